# SPDX-License-Identifier: BSL-1.0
from conan import ConanFile


class SystemLua(ConanFile):
    """The distribution's Lua 5.1 under the name of Conan's LuaJIT, so that the recipe can be tried without downloading
    one."""

    name = "luajit"
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.includedirs = self.cpp_info.libdirs = self.cpp_info.bindirs = []
        self.cpp_info.system_libs = ["lua5.1"]
