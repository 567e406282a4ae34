#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""test/docs/look.py SITE [PAGE...]: the site as a browser shows it, light and dark, on a desktop and on a phone.

Can all text be read (WCAG 2, AA: a contrast of 4.5, of large text 3)? Do names in tables break between their words only,
is there no gap between code and punctuation, is no page wider than a phone, is every picture there, and does the first
screen have code, a picture, figures, the logo, the version and the way to the reference? Screenshots go to look/ beside
the site. Without Debian's package chromium all this is skipped.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PAGES = ["index", "tutorial", "errors", "promise", "options", "stories", "architecture", "howto/install", "howto/waiting",
         "reference/mutex"]
SIZES = {"desktop": (1280, 720), "phone": (390, 844)}

CHECK = r"""
(() => {
const complaints = new Set(), say = (what, where) => complaints.add(what + ": " + where);
const phone = innerWidth < 500;
if (document.body.dataset.mdColorScheme !== (matchMedia("(prefers-color-scheme: dark)").matches ? "slate" : "default"))
    say("palette", document.body.dataset.mdColorScheme);

function color(text) {
    const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
    return [r, g, b, a];
}
const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
function background(element) {
    if (!element) return [255, 255, 255, 1];
    const own = color(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, background(element.parentElement));
}
const luminance = rgb => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => {
    const c = rgb[i] / 255;
    return sum + weight * (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
}, 0);
function contrast(a, b) {
    const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (light + 0.05) / (dark + 0.05);
}
function opacity(element) {
    let all = 1;
    for (; element; element = element.parentElement) all *= Number(getComputedStyle(element).opacity);
    return all;
}
const box = (node, from, to) => {
    const range = document.createRange();
    range.setStart(node, from), range.setEnd(node, to);
    return range.getBoundingClientRect();
};
const texts = (root, all = []) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) all.push(walker.currentNode);
    return all;
};

for (const node of texts(document.body)) {
    const element = node.parentElement, style = getComputedStyle(element), rect = box(node, 0, node.length);
    if (!node.data.trim() || !rect.width || style.visibility !== "visible" || /^(SCRIPT|STYLE|TITLE)$/.test(element.tagName)) continue;
    if (element.closest(".headerlink, .md-search__output, .md-dialog, .md-skip, .md-top, [hidden]")) continue;
    const shown = opacity(element);
    if (shown < 0.1) continue; // not shown yet, or no longer
    const below = background(element), ink = color(style.color);
    ink[3] *= shown;
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const got = contrast(over(ink, below), below);
    if (got < (large ? 3 : 4.5) - 0.005)
        say("contrast " + got.toFixed(2), element.tagName.toLowerCase() + "." + element.className + ", " + node.data.trim().slice(0, 30));
}
const actives = [...document.querySelectorAll(".md-nav--primary .md-nav__link--active")].filter(e => e.offsetParent);
if (!phone && !actives.length) say("navigation", "no active entry");

if (phone)
    for (const code of document.querySelectorAll("td code, th code")) {
        let before;
        for (const node of texts(code))
            for (let i = 0; i < node.length; ++i) {
                const here = {letter: node.data[i], top: box(node, i, i + 1).top};
                if (before && here.top > before.top + 4 && /\w/.test(here.letter) && /[a-z0-9]/i.test(before.letter))
                    say("a name breaks in the middle", code.textContent);
                before = here;
            }
    }

for (const code of document.querySelectorAll("article :not(pre) > code")) {
    const inside = texts(code).pop(), block = code.closest("p, li, td, th, h1, h2, h3, dd") || code.parentElement;
    const all = texts(block), next = all[all.indexOf(inside) + 1];
    if (!next || !/^[.,;:!?)]/.test(next.data)) continue;
    const last = box(inside, inside.length - 1, inside.length), mark = box(next, 0, 1);
    if (Math.abs(mark.top + mark.height / 2 - last.top - last.height / 2) < 6 && mark.left - last.right > 0.5)
        say("a gap of " + (mark.left - last.right).toFixed(1) + " px behind code", code.textContent + next.data[0]);
}

if (document.documentElement.scrollWidth > innerWidth) say("wider than the screen", document.documentElement.scrollWidth + " px");
for (const image of document.images) if (!image.naturalWidth) say("no picture", image.src);

if (FIRST && !phone) {
    const wanted = {code: "article pre", picture: ".first img", figures: ".first tbody tr:last-child", logo: "h1 img.logo", version: ".facts"};
    for (const [name, selector] of Object.entries(wanted)) {
        const found = document.querySelector(selector);
        if (!found) say("the first screen has no", name);
        else if (found.getBoundingClientRect().bottom > innerHeight)
            say("below the first screen", name + ", ends at " + Math.round(found.getBoundingClientRect().bottom));
    }
    if (!/Version \d+\.\d+/.test(document.querySelector(".facts")?.textContent)) say("the first screen has no", "version");
    const links = [...document.querySelectorAll(".md-tabs a")].map(a => a.textContent.trim());
    if (!links.includes("Reference")) say("the navigation has no", "reference");
}
return [...complaints];
})()
"""


class Browser:
    """Chromium without a window, which is told what to do through pipes."""

    def __init__(self, profile):
        their_in, self.out = os.pipe()
        self.into, their_out = os.pipe()
        arguments = ["--headless=new", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe", "--no-first-run",
                     f"--user-data-dir={profile}", *(["--no-sandbox"] if os.getuid() == 0 else []), "about:blank"]
        self.process = subprocess.Popen(["bash", "-c", f'exec "$@" 3<&{their_in} 4>&{their_out}', "-", "chromium", *arguments],
                                        pass_fds=(their_in, their_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(their_in), os.close(their_out)
        self.number, self.buffer, self.events = 0, b"", []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = None
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask("Page.enable")
        # The theme remembers the palette of the first page. A page from disk may have no storage.
        self.ask("Page.addScriptToEvaluateOnNewDocument", source="try { localStorage.clear() } catch {}")

    def read(self):
        while b"\0" not in self.buffer:
            got = os.read(self.into, 1 << 20)
            if not got:
                raise EOFError("chromium has ended")
            self.buffer += got
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while (answer := self.read()).get("id") != self.number:
            self.events.append(answer.get("method"))
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def open(self, path, size, scheme):
        width, height = size
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events.clear()
        self.ask("Page.navigate", url=path.as_uri())
        while "Page.loadEventFired" not in self.events:
            self.events.append(self.read().get("method"))
        self.value("document.fonts.ready.then(() => new Promise(done => setTimeout(done, 300)))")

    def value(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description"))
        return result["result"].get("value")

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))

    def end(self):
        self.process.terminate()
        self.process.wait()


def main(site, pages):
    if not shutil.which("chromium"):
        print("the look: skipped, because the package chromium is not installed")
        return 0
    shots = site.parent / "look"
    shutil.rmtree(shots, ignore_errors=True)
    shots.mkdir()
    failed = False
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(profile)
        try:
            for page in pages:
                for scheme in ("light", "dark"):
                    for name, size in SIZES.items():
                        browser.open(site / f"{page}.html", size, scheme)
                        for complaint in browser.value(CHECK.replace("FIRST", "true" if page == "index" else "false")):
                            failed = True
                            print(f"{page}.html, {scheme}, {name}: {complaint}")
                        browser.picture(shots / f"{page.replace('/', '_')}-{scheme}-{name}.png")
        finally:
            browser.end()
    print(f"the look of {len(pages)} pages checked: {shots}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2:] or PAGES))
