# SPDX-License-Identifier: BSL-1.0
"""Hooks for mkdocs.yml.

Pages are in docs/ and link to files of the project, so that a code host shows them, too. In the site some files of the
project are pages besides: those of PAGES, and every example. scripts/rules has written rules.md before. Links to these files are changed to links to their pages. A
link [name](.../include/redlock/x.hpp) leads to the name's page of the reference, which scripts/site/reference.py has made
before. A link to any other file outside docs/ is an error. README.md as a target means the first page.

The search requests its index, which browsers deny to a page from disk. So the index is also written as a script, for
scripts/site/theme/main.html.

The first page has the logo, the version and, if PUBLISHER names it, the repository, which every page's header links to.
"""

import json
import os
import re
import subprocess
from pathlib import Path, PurePosixPath
from textwrap import dedent

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ROOT / "build" / "docs" / "generated"
PAGES = ["CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "benchmarks/README.md"]
OPTIONAL = ["comparison.md"]

places = {}  # file of the project -> page or file of the site


def output(command):
    return subprocess.run(["bash", "-c", command], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def on_config(config):
    config["extra"]["release"] = output("source scripts/environment.sh && version")
    config["copyright"] = f"asio-redlock {config['extra']['release']}"
    if repository := output("scripts/publisher --get repository"):
        config["repo_url"], config["repo_name"] = repository, "Sources"
    absent = {name for name in OPTIONAL if not (ROOT / "docs" / name).exists()}

    def kept(items):
        for item in items:
            ((title, target),) = item.items()
            if isinstance(target, list):
                yield {title: list(kept(target))}
            elif target not in absent:
                yield item

    config["nav"] = list(kept(config["nav"]))
    groups = json.loads((GENERATED / "reference" / "nav.json").read_text())
    next(item["Reference"] for item in config["nav"] if "Reference" in item)[1:1] = map(entry, groups)
    return config


def entry(item):
    """A page of the reference, or a group of them, as the navigation wants it."""
    title, target = item
    return {title: f"reference/{target}" if isinstance(target, str) else [entry(each) for each in target]}


def on_files(files, config):
    def add(name, directory):
        files.append(File(name, str(directory), config["site_dir"], config["use_directory_urls"]))

    places.clear()
    for page in PAGES:
        places[page] = page
        add(page, ROOT)
    examples = ROOT / "examples"
    for example in sorted([*examples.glob("*.?pp"), *examples.glob("cli/*"), *examples.glob("observe/*")]):
        name = example.relative_to(ROOT).as_posix()
        places[name] = name + ".md"
        write_example(name, example.read_text())
        add(places[name], GENERATED)
    add("rules.md", GENERATED)
    for file in sorted((GENERATED / "reference").glob("*.md")):
        name = file.relative_to(GENERATED).as_posix()
        places[name] = name
        add(name, GENERATED)
    for file in files:
        if Path(file.abs_src_path).is_relative_to(ROOT / "docs"):
            places["docs/" + file.src_path] = file.src_path
    return files


def write_example(name, text):
    page = GENERATED / (name + ".md")
    page.parent.mkdir(parents=True, exist_ok=True)
    language = {".cpp": "cpp", ".hpp": "cpp", ".json": "json", ".yaml": "yaml"}.get(page.with_suffix("").suffix, "ini")
    page.write_text(f"# {name}\n\n```{language}\n{text}```\n")


def on_page_markdown(markdown, page, config, files):
    source = Path(page.file.abs_src_path)
    if source.is_relative_to(GENERATED):
        return markdown
    here = PurePosixPath(source.relative_to(ROOT).as_posix())
    folder = PurePosixPath(page.file.src_path).parent
    if page.file.src_path == "index.md":
        page.meta["hide"] = ["toc"]
        markdown = first_page(markdown, config)
    return turned(markdown, here, folder)


def first_page(markdown, config):
    """The logo before the title, and a line of facts below it."""
    facts = [f"Version {config['extra']['release']}", "[Install](howto/install.md)", "[Reference](../include/redlock)",
             "[Changes](../CHANGELOG.md)"]
    if config["repo_url"]:
        facts.insert(1, f"[Sources]({config['repo_url']})")
    title, rest = markdown.split("\n", 1)
    line = " \u00b7 ".join(facts)
    return f"# ![](images/logo.svg){{: .logo }} {title.removeprefix('# ')}\n\n{line}\n{{: .facts }}\n{rest}"


def reference(label):
    """The page of the reference for the first name in a link's label: of a type, or of a free name in its group's page."""
    name = re.match(r"[`<]*(\w+)", label)[1]
    for page in (f"reference/{name}.md", f"reference/testing.{name}.md"):
        if page in places:
            return page
    for _, pages in json.loads((GENERATED / "reference" / "nav.json").read_text())[1:]:
        group = pages[0][1]
        if f"{{: #{name} }}" in (GENERATED / "reference" / group).read_text():
            return f"reference/{group}#{name}"
    raise PluginError(f"the reference has no {name}")


def turned(markdown, here, folder):
    """The text of the file `here`, with its links as they have to be on a page in `folder` of the site."""

    def link(match):
        label, target, anchor = match[1], match[2] or str(here), match[3] or ""
        file = os.path.normpath(here.parent / target) if match[2] else target
        if re.match(r"[a-z]+:", target):
            return match[0]
        if file == "include/redlock":
            return f"[{label}]({os.path.relpath('reference/index.md', folder)})"
        if file.startswith("include/redlock/"):
            return f"[{label}]({os.path.relpath(reference(label), folder)})"
        if file == "README.md":
            file = "docs/index.md"
        if file not in places:
            raise PluginError(f"{here}: {target} is not a part of the site")
        return f"[{label}]({os.path.relpath(places[file], folder)}{anchor})"

    def cited(match):
        place = places.get(match[1])
        return f"[{match[0]}]({os.path.relpath(place, folder)})" if place else match[0]

    def outside_code(text):
        text = re.sub(r"\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)", link, text)
        return re.sub(r"(?<!\[)`(examples/[a-z0-9_]+\.[ch]pp)`(?!\])", cited, text)

    def code(fence):
        first, *lines, last = fence.split("\n")
        return "\n".join([first, dedent("\n".join(lines)), last])

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.M | re.S)
    return "".join(code(part) if part.startswith("```") else outside_code(part) for part in parts)


def on_post_page(output, page, config):
    """Names in tables may be broken between their words. This comes after the search has read the page."""

    def words(code):
        return re.sub(r"(?<=\w)(_+|::|/)(?=\w)", r"\1<wbr>", code[0])

    def cell(match):
        return re.sub(r"(?<=<code>)[^<]*", words, match[0])

    return re.sub(r"<td.*?</td>", cell, output, flags=re.S)


def on_post_build(config):
    search = Path(config["site_dir"]) / "search"
    index = json.loads((search / "search_index.json").read_text())
    (search / "search_index.js").write_text(f"var __search = {{index: Promise.resolve({json.dumps(index)})}};\n")
