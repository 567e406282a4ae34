#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Every link of the guide's pages leads to a file of the site, and to an anchor that stands there, or names another site
to go to. Nothing is loaded from other sites."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            if name in ("href", "src") and value and tag != "base":
                (self.links if tag == "a" else self.loaded).append(value)


def main(site):
    pages = {path: Page(path) for path in site.rglob("*.html")}
    count, bad = 0, []
    for path, page in pages.items():
        if path.name == "404.html":
            continue  # the theme's, whose links begin at a server's root
        for link in page.links + page.loaded:
            count += 1
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loaded:
                    bad.append((path, link))
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = target in pages and (parts.fragment in pages[target].anchors or not parts.fragment)
            if not known and (target in pages or not target.is_file()):
                bad.append((path, link))
    for path, link in bad:
        print(f"{path.relative_to(site)}: {link}")
    print(f"{count} links checked")
    return 1 if bad or not count else 0


sys.exit(main(Path(sys.argv[1]).resolve()))
