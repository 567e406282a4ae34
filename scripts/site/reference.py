#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Writes the reference as pages of the guide: Markdown from the XML that Doxygen makes of the public headers.

reference.py XML OUT: a page for each class, struct and concept, one for the free names of each namespace, and an index. Names
without a comment are listed in one block. An unknown tag is an error, so nothing gets lost.
"""

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
places = {}  # Doxygen's id -> page, with an anchor for a member


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


def public(compound):
    for section in compound.findall("sectiondef"):
        if "private" in section.get("kind"):
            continue
        yield from (m for m in section.findall("memberdef") if m.get("kind") != "friend" or has_words(m))


def anchors(compound):
    """Each member's heading and anchor. Overloads have numbered anchors."""
    used = {}
    for member in public(compound):
        name = member.findtext("name").split("::")[-1]
        slug = re.sub(r"[^\w-]", "", name.lower()) or "operator"
        used[slug] = used.get(slug, 0) + 1
        yield member, name, slug + (f"-{used[slug]}" if used[slug] > 1 else "")


def page_of(compound):
    name = compound.findtext("compoundname")
    return name.removeprefix("redlock::").replace("::", ".") + ".md"


def register(compound):
    places[compound.get("id")] = page_of(compound)
    for member, _, anchor in anchors(compound):
        places[member.get("id")] = f"{page_of(compound)}#{anchor}"
        for value in member.findall("enumvalue"):
            places[value.get("id")] = f"{page_of(compound)}#{anchor}"


def write(compound, out):
    name = compound.findtext("compoundname")
    lines = [f"# {name.removeprefix('redlock::')}"]
    if (header := compound.find("includes")) is not None:
        lines.append(f"{KINDS[compound.get('kind')]} `{name}`, in `<{header.text}>`")
    if (initializer := compound.find("initializer")) is not None:
        lines.append("```cpp\n" + "".join(initializer.itertext()).strip() + "\n```")
    lines.append(description(compound))
    bare = [signature(member) for member, _, _ in anchors(compound) if not has_words(member)]
    if bare:
        lines.append("```cpp\n" + "\n".join(map(wrapped, bare)) + "\n```")
    for member, title, anchor in anchors(compound):
        if not has_words(member):
            continue
        lines += [f"## {escaped(title)} {{: #{anchor} }}", "```cpp\n" + wrapped(signature(member)) + "\n```", description(member)]
        if values := member.findall("enumvalue"):
            rows = [f"| `{v.findtext('name')}` | {description(v).replace(chr(10), ' ')} |" for v in values]
            lines.append("| Value | Means |\n|---|---|\n" + "\n".join(rows))
    (out / page_of(compound)).write_text("\n\n".join(filter(None, lines)) + "\n")


def main(source, out):
    compounds = []
    for path in sorted(source.glob("*.xml")):
        compound = ElementTree.parse(path).getroot().find("compounddef")
        if compound is not None and compound.get("kind") in KINDS and compound.findtext("compoundname").startswith("redlock"):
            compounds.append(compound)
    out.mkdir(parents=True, exist_ok=True)
    wanted = [c for c in compounds if c.get("kind") != "namespace" or c.find("sectiondef") is not None]
    for compound in wanted:
        register(compound)
    for compound in wanted:
        write(compound, out)
    rows = []
    for compound in sorted(wanted, key=lambda c: (c.get("kind") == "namespace", c.findtext("compoundname"))):
        brief = " ".join(filter(None, paragraphs(compound.find("briefdescription"))))
        rows.append(f"| [{page_of(compound)[:-3]}]({page_of(compound)}) | {brief or 'functions and enumerations'} |")
    index = "# Reference\n\nEvery public type, and what its header's comments say of it.\n\n| Name | What it is |\n|---|---|\n"
    (out / "index.md").write_text(index + "\n".join(rows) + "\n")
    return 0 if wanted else 1


sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
