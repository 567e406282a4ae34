#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Writes the reference as pages of the guide: Markdown from the XML that Doxygen makes of the public headers.

reference.py XML OUT: a page for each public class, struct and concept with all its members, inherited ones too; a page for
each group, with its types and free names; and an index. Names without a comment are listed in one block. An unknown tag is
an error, and so is a header without a group, so nothing gets lost. nav.json says for the navigation which page belongs where.
"""

import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KINDS = {"class": "Class", "struct": "Struct", "concept": "Concept", "namespace": "Namespace"}
rules = {
    rule: re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading).lower())
    for heading, rule in re.findall(r"^### (([A-Z]\d+)\. .*)$", (ROOT / "docs/protocol.md").read_text(), flags=re.M)
}
GROUPS = {  # page: its title, and the headers whose names it has
    "locks": ("Locks", "client any_lock inspectable_lock mutex fenced_mutex shared_mutex fenced_shared_mutex semaphore "
              "fenced_semaphore multi_mutex fenced_multi_mutex with_lock"),
    "elections": ("Elections", "election leadership leader_info"),
    "leases": ("Leases", "lease shared_lease"),
    "errors": ("Errors", "error with_diagnostics node_outcome server_error detail/printed"),
    "observing": ("Observing", "inspection observer log"),
    "options": ("Options", "config lock_options fence_options"),
    "testing": ("Testing", "testing/world testing/made_up_lease"),
}
PAGES = {header: page for page, (_, headers) in GROUPS.items() for header in headers.split()}
ORDER = list(PAGES)
places = {}  # Doxygen's id -> page, with an anchor for a member
compounds = {}  # Doxygen's id -> what it says of it


def plain(element):
    """The text of a piece of C++, without the spaces that Doxygen adds."""
    text = " ".join("".join(element.itertext()).split()) if element is not None else ""
    return tidy(re.sub(r" ?([<>,]) ?(?=[^&*a-zA-Z={]|$)|(?<=<) | (?=>)", lambda m: m[1] or "", text))


def tidy(text):
    """References and defaults as this project writes them."""
    text = re.sub(r" ([&*]+) ?(?=\w)", r"\1 ", text)
    return re.sub(r"(\w|>) ([&*]+)(?!\w)", r"\1\2", text).replace("={", " = {")


def escaped(text):
    text = re.sub(r"[\\`*\[\]|<>&]|(?<!\w)_|_(?!\w)", lambda m: f"&#{ord(m[0])};", text)
    text = re.sub(r"docs/([a-z&#0-9;/-]+?)\.md", lambda m: f"[{m[0]}](../{m[1]}.md)", text)
    return re.sub(
        r"\brule ([A-Z]\d+)", lambda m: f"[{m[0]}](../protocol.md#{rules[m[1]]})" if m[1] in rules else m[0], text
    )


def inline(element, in_table=False):
    out = [escaped(element.text or "")]
    for child in element:
        body = "".join(child.itertext())
        code = "`" + (body.replace("|", "\\|") if in_table else body) + "`"
        if child.tag == "computeroutput":
            inner = child.find("ref")
            place = places.get(inner.get("refid")) if inner is not None and body == "".join(inner.itertext()) else None
            out.append(f"[{code}]({place})" if place else code)
        elif child.tag == "ref":
            place = places.get(child.get("refid"))
            out.append(f"[{code}]({place})" if place else escaped(body))
        elif child.tag in ("bold", "emphasis"):
            mark = "**" if child.tag == "bold" else "*"
            out.append(mark + inline(child, in_table) + mark)
        elif child.tag == "ulink":
            out.append(f"[{inline(child)}]({child.get('url')})")
        elif child.tag == "anchor":
            pass
        elif child.tag in ("ndash", "mdash"):
            out.append("–")
        else:
            raise ValueError(f"unknown tag {child.tag}")
        out.append(escaped(child.tail or ""))
    return re.sub(r"\s+", " ", "".join(out))


BLOCKS = {"simplesect", "parameterlist", "itemizedlist", "orderedlist", "verbatim", "table", "programlisting"}


def paragraphs(element):
    """The Markdown of a description: its paragraphs, and the blocks that Doxygen puts into them."""
    for para in element.findall("para") if element is not None else ():
        text = ElementTree.Element("para")
        text.text = para.text
        for child in para:
            if child.tag not in BLOCKS:
                text.append(child)
                continue
            yield inline(text).strip()
            yield from block(child)
            text = ElementTree.Element("para")
            text.text = child.tail
        yield inline(text).strip()


def block(element):
    if element.tag == "verbatim":
        yield "```text\n" + element.text.strip("\n") + "\n```"
    elif element.tag == "programlisting":
        lines = ["".join((" " if part.tag == "sp" else part.text or "") + (part.tail or "") for part in line.iter())
                 for line in element.findall("codeline")]
        yield "```text\n" + "\n".join(lines) + "\n```"
    elif element.tag == "simplesect":
        title = element.findtext("title") or {"return": "Returns", "note": "Note", "see": "See"}[element.get("kind")]
        yield f"**{title.strip()}**"
        yield from paragraphs(element)
    elif element.tag == "parameterlist":
        yield "**" + {"exception": "Throws", "param": "Parameters", "templateparam": "Template parameters"}[element.get("kind")] + "**"
        for item in element.findall("parameteritem"):
            names = ", ".join(f"`{''.join(n.itertext())}`" for n in item.iter("parametername"))
            words = " ".join(filter(None, paragraphs(item.find("parameterdescription"))))
            yield f"{names} {words}".strip()
    elif element.tag in ("itemizedlist", "orderedlist"):
        mark = "-" if element.tag == "itemizedlist" else "1."
        yield "\n".join(f"{mark} " + " ".join(filter(None, paragraphs(item))) for item in element.findall("listitem"))
    elif element.tag == "table":
        lines = []
        for row in element.findall("row"):
            cells = [" ".join(inline(para, True).strip() for para in entry.findall("para")) for entry in row.findall("entry")]
            lines.append("| " + " | ".join(cells) + " |")
            if len(lines) == 1:
                lines.append("|---" * len(cells) + "|")
        yield "\n".join(lines)


def description(element):
    parts = [*paragraphs(element.find("briefdescription")), *paragraphs(element.find("detaileddescription"))]
    return "\n\n".join(filter(None, parts))


def has_words(element):
    return bool(description(element))


def signature(member):
    kind, name = member.get("kind"), member.findtext("name")
    if kind == "enum":
        return f"enum class {name}" if member.get("strong") == "yes" else f"enum {name}"
    if kind == "typedef":
        return f"using {name} = {plain(member.find('type'))};"
    head = ""
    if (template := member.find("templateparamlist")) is not None:
        parameters = []
        for parameter in template.findall("param"):
            text = " ".join(filter(None, (plain(parameter.find("type")), parameter.findtext("declname"))))
            parameters.append(text + (f" = {plain(parameter.find('defval'))}" if parameter.find("defval") is not None else ""))
        head = f"template <{', '.join(parameters)}>\n"
    if (requires := member.find("requiresclause")) is not None:
        head += f"    requires {plain(requires)}\n"
    words = [w for w in ("static", "explicit") if member.get(w) == "yes"]
    if member.get("virt") == "virtual":
        words.append("virtual")
    text = " ".join(filter(None, [*words, plain(member.find("type")), name]))
    if kind == "function":
        return head + text + plain_arguments(member.findtext("argsstring") or "") + ";"
    return head + text + (" " + value if (value := plain(member.find("initializer"))).startswith("=") else value) + ";"


def plain_arguments(text):
    return re.sub(r"=(default|delete)$", r" = \1", re.sub(r"\s+", " ", tidy(text)).replace("< ", "<").replace(" >", ">"))


def wrapped(code, width=96):
    """One line of code, broken after commas of its argument list."""
    lines = []
    for line in code.split("\n"):
        while len(line) > width and (cut := line.rfind(", ", 8, width)) > 0:
            lines.append(line[: cut + 1])
            line = "        " + line[cut + 2 :]
        lines.append(line)
    return "\n".join(lines)


def header_of(element):
    return element.find("location").get("file").removeprefix("redlock/").removesuffix(".hpp")


def own(compound):
    for section in compound.findall("sectiondef"):
        if re.match(r"private|protected", section.get("kind")):
            continue
        yield from (m for m in section.findall("memberdef")
                    if (m.get("kind") != "friend" or has_words(m)) and not is_using(compound, m))


def is_using(compound, member):
    """A using-declaration of a base's function, which Doxygen repeats here."""
    named = f"{compound.findtext('compoundname')}::{member.findtext('name')}"
    return member.get("kind") == "function" and named not in member.findtext("definition")


def is_special(member):
    """Is this a member that derived classes do not inherit?"""
    name = member.findtext("name")
    return name.startswith("~") or name == "operator=" or (member.get("kind") == "function" and not plain(member.find("type")))


def public(compound):
    """The members of a type, and those that it inherits, each with the type that it is from."""
    yield from ((member, compound) for member in own(compound))
    for base in compound.findall("basecompoundref"):
        if base.get("prot") == "public" and base.get("refid") in compounds:
            yield from ((m, of) for m, of in public(compounds[base.get("refid")]) if not is_special(m))


def anchors(members):
    """Each member with its origin, heading and anchor. Overloads have numbered anchors."""
    used = {}
    for member, of in members:
        name = member.findtext("name").split("::")[-1]
        slug = re.sub(r"[^\w-]", "", name.lower()) or "operator"
        used[slug] = used.get(slug, 0) + 1
        yield member, of, name, slug + (f"-{used[slug]}" if used[slug] > 1 else "")


def is_public(compound):
    return compound.get("prot", "public") == "public" and "::detail::" not in compound.findtext("compoundname")


def page_of(compound):
    name = compound.findtext("compoundname")
    return name.removeprefix("redlock::").replace("::", ".") + ".md"


def register(members, page):
    for member, _, _, anchor in anchors(members):
        place = f"{page}#{anchor}"
        places.setdefault(member.get("id"), place)
        for value in member.findall("enumvalue"):
            places.setdefault(value.get("id"), place)


def member_texts(members, compound=None):
    """The Markdown of members: those without a comment in one block, and a section for each other one."""
    all_members = list(anchors(members))
    bare = [signature(member) for member, *_ in all_members if not has_words(member)]
    if bare:
        yield "```cpp\n" + "\n".join(map(wrapped, bare)) + "\n```"
    for member, of, title, anchor in all_members:
        if not has_words(member):
            continue
        yield f"## {escaped(title)} {{: #{anchor} }}"
        yield "```cpp\n" + wrapped(signature(member)) + "\n```"
        if of is not compound and of is not None and is_public(of):
            yield f"*From [{escaped(of.findtext('compoundname').removeprefix('redlock::'))}]({page_of(of)}).*"
        yield description(member)
        if values := member.findall("enumvalue"):
            rows = [f"| `{v.findtext('name')}` | {description(v).replace(chr(10), ' ')} |" for v in values]
            yield "| Value | Means |\n|---|---|\n" + "\n".join(rows)


def write(out, page, texts):
    (out / page).write_text("\n\n".join(filter(None, texts)) + "\n")


def type_page(compound):
    name = compound.findtext("compoundname")
    yield f"# {name.removeprefix('redlock::')}"
    if (header := compound.find("includes")) is not None:
        yield f"{KINDS[compound.get('kind')]} `{name}`, in `<{header.text}>`"
    if (initializer := compound.find("initializer")) is not None:
        yield "```cpp\n" + "".join(initializer.itertext()).strip() + "\n```"
    yield description(compound)
    yield from member_texts(public(compound), compound)


def types_table(types):
    briefs = ((t, " ".join(filter(None, paragraphs(t.find("briefdescription"))))) for t in types)
    rows = [f"| [{page_of(t)[:-3]}]({page_of(t)}) | {brief} |" for t, brief in briefs]
    return "| Name | What it is |\n|---|---|\n" + "\n".join(rows)


def main(source, out):
    for path in sorted(source.glob("*.xml")):
        compound = ElementTree.parse(path).getroot().find("compounddef")
        if compound is not None and compound.get("kind") in KINDS and compound.findtext("compoundname").startswith("redlock"):
            compounds[compound.get("id")] = compound
    out.mkdir(parents=True, exist_ok=True)
    public_ones = [c for c in compounds.values() if is_public(c)]
    spaces = [c for c in public_ones if c.get("kind") == "namespace" and not c.findtext("compoundname").endswith("::detail")]
    types = sorted((c for c in public_ones if c.get("kind") != "namespace"),
                   key=lambda c: (ORDER.index(header_of(c)), int(c.find("location").get("line"))))
    free = sorted(((m, None) for space in spaces for m in own(space)), key=lambda m: ORDER.index(header_of(m[0])))
    groups = {page: ([t for t in types if PAGES[header_of(t)] == page], [m for m in free if PAGES[header_of(m[0])] == page])
              for page in GROUPS}
    for space in spaces:
        places[space.get("id")] = "testing.md" if space.findtext("compoundname").endswith("::testing") else "index.md"
    for one in types:
        places[one.get("id")] = page_of(one)
        register(((m, one) for m in own(one)), page_of(one))
    for one in types:
        register(public(one), page_of(one))  # members of a base without a page
    for page, (_, names) in groups.items():
        register(names, f"{page}.md")
    for one in types:
        write(out, page_of(one), type_page(one))
    index = ["# Reference", "Every public type and function, and what its header's comment says of it."]
    nav = [("Overview", "index.md")]
    for page, (of_group, names) in groups.items():
        title = GROUPS[page][0]
        write(out, f"{page}.md", [f"# {title}", types_table(of_group), *member_texts(names)])
        functions = dict.fromkeys(m.findtext("name") for m, _ in names)
        index += [f"## [{title}]({page}.md)", types_table(of_group), ", ".join(
            f"[`{name}`]({places[next(m for m, _ in names if m.findtext('name') == name).get('id')]})" for name in functions)]
        nav.append((title, [("Overview", f"{page}.md"), *((page_of(t)[:-3], page_of(t)) for t in of_group)]))
    write(out, "index.md", index)
    (out / "nav.json").write_text(json.dumps(nav))
    return 0 if types else 1


sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
