"""What mkdocs does not do by itself for mkdocs.yml.

Pages stand in docs/ and link to files as they lie in the project, so that they can be read there, too. In the site
some files of the project are pages besides: those of PAGES, and every example. Links to them are turned to their
pages; a link to any other file outside docs/ is an error. The reference, made by Doxygen before, becomes a part of
the site, so that links into it are checked.

    <!-- include: FILE | HEADING -->
    To be read in [FILE, "HEADING"](...).

stands for what FILE says under HEADING, so that nothing is said twice; the second line is for who reads the page in the
project. test/docs/includes.sh looks at it. README.md as a target means the first page.
"""

import os
import re
from pathlib import Path, PurePosixPath
from textwrap import dedent

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ROOT / "build" / "docs" / "generated"
PAGES = ["CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "benchmarks/README.md"]
OPTIONAL = ["comparison.md"]

places = {}  # file of the project -> page or file of the site


def on_config(config):
    absent = {name for name in OPTIONAL if not (ROOT / "docs" / name).exists()}

    def kept(items):
        for item in items:
            ((title, target),) = item.items()
            if isinstance(target, list):
                yield {title: list(kept(target))}
            elif target not in absent:
                yield item

    config["nav"] = list(kept(config["nav"]))
    return config


def on_files(files, config):
    def add(name, directory):
        files.append(File(name, str(directory), config["site_dir"], config["use_directory_urls"]))

    places.clear()
    for page in PAGES:
        places[page] = page
        add(page, ROOT)
    examples = ROOT / "examples"
    for example in sorted([*examples.glob("*.?pp"), *examples.glob("cli/*")]):
        name = example.relative_to(ROOT).as_posix()
        places[name] = name + ".md"
        write_example(name, example.read_text())
        add(places[name], GENERATED)
    for file in sorted((GENERATED / "reference").rglob("*")):
        if file.is_file():
            add(file.relative_to(GENERATED).as_posix(), GENERATED)
    for file in files:
        if Path(file.abs_src_path).is_relative_to(ROOT / "docs"):
            places["docs/" + file.src_path] = file.src_path
    return files


def write_example(name, text):
    page = GENERATED / (name + ".md")
    page.parent.mkdir(parents=True, exist_ok=True)
    language = "cpp" if name.endswith("pp") else "ini"
    page.write_text(f"# {name}\n\n```{language}\n{text}```\n")


def on_page_markdown(markdown, page, config, files):
    source = Path(page.file.abs_src_path)
    if source.is_relative_to(GENERATED):
        return markdown
    here = PurePosixPath(source.relative_to(ROOT).as_posix())
    folder = PurePosixPath(page.file.src_path).parent
    parts = re.split(r"^<!-- include: (\S+) \| (.+) -->\n.*$", markdown, flags=re.M)
    text = turned(parts[0], here, folder)
    for file, heading, after in zip(parts[1::3], parts[2::3], parts[3::3]):
        text += turned(section(file, heading), PurePosixPath(file), folder) + turned(after, here, folder)
    return text


def section(file, heading):
    """What stands in that file of the project under that heading, up to the next one of its level."""
    found = re.search(rf"^(#+) {re.escape(heading)}$", text := (ROOT / file).read_text(), flags=re.M)
    if not found:
        raise PluginError(f"{file} has no heading '{heading}'")
    end = re.search(rf"^#{{1,{len(found[1])}}} (?=\S)", text[found.end() :], flags=re.M)
    return text[found.end() :][: end.start() if end else None].strip() + "\n"


def turned(markdown, here, folder):
    """The text of the file `here`, with its links as they have to be on a page in `folder` of the site."""

    def link(match):
        target, anchor = match[1] or str(here), match[2] or ""
        file = os.path.normpath(here.parent / target) if match[1] else target
        if re.match(r"[a-z]+:", target) or file.startswith("docs/reference/"):
            return match[0]
        if file == "README.md":
            file = "docs/index.md"
        if file not in places:
            raise PluginError(f"{here}: {target} is not a part of the site")
        return f"]({os.path.relpath(places[file], folder)}{anchor})"

    def cited(match):
        place = places.get(match[1])
        return f"[{match[0]}]({os.path.relpath(place, folder)})" if place else match[0]

    def outside_code(text):
        text = re.sub(r"\]\(([^)#\s]*)(#[^)\s]*)?\)", link, text)
        return re.sub(r"(?<!\[)`(examples/[a-z0-9_]+\.[ch]pp)`(?!\])", cited, text)

    def code(fence):
        first, *lines, last = fence.split("\n")
        return "\n".join([first, dedent("\n".join(lines)), last])

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.M | re.S)
    return "".join(code(part) if part.startswith("```") else outside_code(part) for part in parts)
