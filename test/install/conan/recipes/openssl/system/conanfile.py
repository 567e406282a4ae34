# SPDX-License-Identifier: BSL-1.0
from conan import ConanFile


class SystemOpenssl(ConanFile):
    """The distribution's OpenSSL under Conan's name, so that the recipe can be tried without downloading one."""

    name = "openssl"
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "OpenSSL")
        for part in ("Crypto", "SSL"):
            component = self.cpp_info.components[part.lower()]
            component.set_property("cmake_target_name", f"OpenSSL::{part}")
            component.includedirs = component.libdirs = component.bindirs = []
            component.system_libs = [part.lower()]
        self.cpp_info.components["ssl"].requires = ["crypto"]
