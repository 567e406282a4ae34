# SPDX-License-Identifier: BSL-1.0
import importlib.util
import os
import re

from conan.tools.cmake import cmake_layout
from conan.tools.files import load

required_conan_version = ">=2.1"

# The recipe of a registry, which builds an archive of the sources.
registry = os.path.join("packaging", "conan", "all", "conanfile.py")
spec = importlib.util.spec_from_file_location("registry", os.path.join(os.path.dirname(__file__), registry))
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


class AsioRedlock(module.AsioRedlock):
    """The same of the sources that this file is in."""

    exports = registry
    exports_sources = "CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"
    homepage = None
    boost = "[>=1.81.0 <=1.90.0]"  # the oldest and the newest tried

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "include", "redlock", "version.hpp"))
        parts = (re.search(rf"#define REDLOCK_VERSION_{part} (\d+)", header) for part in ("MAJOR", "MINOR", "PATCH"))
        self.version = ".".join(part.group(1) for part in parts)

    def layout(self):
        cmake_layout(self)

    def source(self):
        pass
