#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""test/docs/style.py SITE: can links and the navigation's active entry be read in light and in dark (WCAG 2, AA: a contrast of
4.5), and are names in tables broken between their words only?"""

import colorsys
import re
import sys
from pathlib import Path

site = Path(sys.argv[1])
css = (site / "site.css").read_text()
failed = False


def complain(words):
    global failed
    failed = True
    print(words)


def luminance(rgb):
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear))


def contrast(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


schemes = {":root": (1, 1, 1)}
hue = int(re.search(r"--md-hue: (\d+)", css)[1])
schemes['[data-md-color-scheme="slate"]'] = colorsys.hls_to_rgb(hue / 360, 0.21, 0.15)  # the theme's background
for scheme, background in schemes.items():
    rule = css[css.index(scheme + " {") :].split("}")[0]
    color = re.search(r"--guide-link: #(\w{6})", rule)[1]
    got = contrast([int(color[i : i + 2], 16) / 255 for i in (0, 2, 4)], background)
    if got < 4.5:
        complain(f"{scheme}: links have a contrast of {got:.2f}")
if not re.search(r"\.md-nav__link--active \{\s*color: var\(--guide-link\)", css):
    complain("the navigation's active entry has the theme's color, which cannot be read in dark")

page = (site / "errors.html").read_text()
for name in ("operation_in_progress", "errc::lease_lost"):
    if "<code>" + name.replace("::", "::<wbr>").replace("_", "_<wbr>") not in page:
        complain(f"errors.html: {name} is not broken between its words")
if re.search(r"td code[^}]*(anywhere|break-word)", css):
    complain("names in tables are broken anywhere")
sys.exit(failed)
