# SPDX-License-Identifier: BSL-1.0
from conan import ConanFile
from conan.errors import ConanException


class SystemBoost(ConanFile):
    """The distribution's Boost under Conan's name, so that the recipe can be tried without downloading one. As in the
    Conan Center, all of Boost is compiled for whoever does not ask for the headers alone; here that fails."""

    name = "boost"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "header_only": [True, False]}
    default_options = {"shared": False, "header_only": False}

    def package_id(self):
        if self.info.options.header_only:
            self.info.clear()

    def build(self):
        if not self.options.header_only:
            raise ConanException("all of Boost would be compiled, for headers")

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "Boost")
        headers = self.cpp_info.components["headers"]
        headers.set_property("cmake_target_name", "Boost::headers")
        headers.includedirs = headers.libdirs = headers.bindirs = []
