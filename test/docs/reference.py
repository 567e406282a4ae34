#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""test/docs/reference.py SITE: has each public function of the headers its place in the site's reference, in each type that
has or inherits it, and does a search for it lead there first? It reads the headers by itself, without Doxygen."""

import html
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include/redlock"
site = Path(sys.argv[1])
types = {}  # name -> {"bases": [...], "functions": [...]}, the free functions under ""
searched = ["acquire_for", "acquire", "try_acquire", "extend", "release", "inspect", "campaign", "change_nodes", "with_lock"]


def code(header):
    """A header's text without comments, what is hidden from the reference, strings and the preprocessor's lines."""
    text = re.sub(r"^\s*/// \\cond.*?/// \\endcond", "", header.read_text(), flags=re.M | re.S)
    text = re.sub(r'"(\\.|[^"\\])*"', '""', text)
    return re.sub(r"//[^\n]*|^#.*(\\\n.*)*", "", text, flags=re.M)


def without_templates(text):
    """A declaration without what precedes it: attributes, template heads and their constraints."""
    text = re.sub(r"\[\[.*?\]\]|\bREDLOCK_\w+", " ", text, flags=re.S)
    while (at := re.search(r"\btemplate\s*<|\brequires\s+[\w:]+\s*<", text)) is not None:
        end, depth = at.end(), 1
        while depth:
            depth += {"<": 1, ">": -1}.get(text[end], 0)
            end += 1
        text = text[: at.start()] + text[end:]
    return text.strip()


def function(text):
    """The name of the function that a declaration declares, if it is one to be found in the reference."""
    text = without_templates(text)
    if re.match(r"(using|friend|typedef|static_assert|concept|extern)\b", text) or re.search(r"=\s*(delete|default)\s*$", text):
        return None
    name = re.search(r"(?<![\w:])(operator\s*(?:\(\)|[^\s\w(]+|\w+)|~?\w+)\s*\(", text.split("=")[0] if "operator" not in text else text)
    return name[1] if name and name[1] not in ("void", "bool", "noexcept", "alignas", "decltype") and name[1][0] != "~" else None


def read(text):
    """Fills `types` from one header."""
    scopes = [("namespace", "", True)]  # kind, type, are its members public?
    pending, depth, at = "", 0, 0

    def skip(at):
        level = 1
        while level:
            level += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        return at

    def declared(words):
        kind, name, seen = scopes[-1]
        if seen and (found := function(words)):
            types.setdefault(name, {"bases": [], "functions": []})["functions"].append(found)

    while at < len(text):
        c = text[at]
        at += 1
        depth += {"(": 1, ")": -1}.get(c, 0)
        if depth or c not in "{};:":
            pending += c
            continue
        words = pending.strip() if c == ":" else without_templates(pending)
        if c == ":":
            if words in ("public", "private", "protected"):
                scopes[-1] = (*scopes[-1][:2], words == "public" and bool(scopes[-1][1]))
                pending = ""
            else:
                pending += c
        elif c == ";":
            declared(pending)
            pending = ""
        elif c == "}":
            scopes.pop()
            pending = ""
        elif space := re.match(r"(inline )?namespace ([\w:]*)", words):
            scopes.append(("namespace", "", "detail" not in space[2] or None))
            pending = ""
        elif type_ := re.match(r"(class|struct)\s+([\w:]+)(?:\s+final)?\s*(?::(?!:)(.*))?$", words, re.S):
            hidden = scopes[-1][2] is None and not type_[2].startswith("basic_")  # only bases of redlock::detail are shown
            name = type_[2] if scopes[-1][2] is not False and not hidden and "::" not in type_[2] else ""  # one of a class is private
            if name:
                bases = re.findall(r"public\s+(?:[\w]+::)*(\w+)", type_[3] or "")
                types.setdefault(name, {"bases": [], "functions": []})["bases"] += bases
            scopes.append(("class", name, type_[1] == "struct" and bool(name)))
            pending = ""
        else:  # a function's body, an enumeration, an initializer
            at = skip(at)
            if not re.match(r"enum\b", words) and "=" not in words.split("(")[0] and not re.match(r"concept\b", words):
                declared(pending)
                pending = ""
            elif re.match(r"enum\b", words):
                pending = "enum"


for header in sorted([*HEADERS.glob("*.hpp"), *(HEADERS / "testing").glob("*.hpp"), *(HEADERS / "detail").glob("basic_*.hpp"),
                      HEADERS / "detail/printed.hpp"]):
    read(code(header))


def functions_of(name):
    yield from ((f, name) for f in types[name]["functions"])
    for base in types[name]["bases"]:
        if base in types:
            yield from ((f, of) for f, of in functions_of(base) if f != of)


def slug(name):
    return re.sub(r"[^\w-]", "", name.lower()) or "operator"


failed = False


def complain(words):
    global failed
    failed = True
    print(words)


counted = 0
pages = {page.stem.removeprefix("testing."): page for page in (site / "reference").glob("*.html")}
for name in types:
    inner = name.split("::")[-1]
    if name.startswith("basic_") or not types[name]["functions"] and not types[name]["bases"]:
        continue
    shown = [pages[inner]] if name else [pages[group] for group in ("locks", "leases", "errors", "observing", "options", "testing")]
    if name and inner not in pages:
        complain(f"the reference has no page for {name}")
        continue
    text = "".join(page.read_text() for page in shown)
    there = re.findall(r'<h2 id="([\w-]+)"', text)
    listed = html.unescape(re.sub(r"<[^>]*>", "", text))
    wanted = {}
    for one, _ in functions_of(name):
        wanted[one] = wanted.get(one, 0) + 1
    for one, number in wanted.items():
        counted += number
        got = sum(bool(re.fullmatch(re.escape(slug(one)) + r"(-\d+)?", anchor)) for anchor in there)
        if got < number and len(re.findall(rf"\b{re.escape(one)}\(", listed)) < number:
            complain(f"{name or 'namespace redlock'}: the reference has {got} of {number} {one}")

for page in (site / "reference").glob("*.html"):
    if page.stem in ("lease.start", "shared_lease.holders", "client.start_shutdown") or page.stem.startswith("detail"):
        complain(f"the reference shows {page.stem}, which is private")

if counted < 200:
    complain(f"only {counted} functions were found in the headers")

# The search, as the site's script does it.
sys.path.append("/usr/lib/python3/dist-packages")
from lunr import lunr  # noqa: E402

entries = json.loads((site / "search/search_index.json").read_text())["docs"]
index = lunr(ref="location", fields=[{"field_name": "title", "boost": 1000}, "text"], documents=entries)
for word in searched:
    first = index.search(word)[0]["ref"]
    if not first.startswith("reference/"):
        complain(f"a search for {word} leads to {first} first")

print(f"{counted} functions of {len(types)} types stand in the reference")
sys.exit(failed)
