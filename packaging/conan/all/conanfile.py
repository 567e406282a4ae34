# SPDX-License-Identifier: BSL-1.0
import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get, rmdir
from conan.tools.scm import Version

required_conan_version = ">=2.1"


class AsioRedlock(ConanFile):
    name = "asio-redlock"
    description = "Asynchronous Redlock distributed locks on Boost.Asio"
    license = "BSL-1.0"
    url = "https://github.com/conan-io/conan-center-index"
    homepage = "@repository@"
    topics = ("redis", "distributed-lock", "asio", "coroutines")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "with_testing": [True, False]}
    default_options = {"shared": False, "fPIC": True, "with_testing": True}
    implements = ["auto_shared_fpic"]

    def requirements(self):
        # Public headers include Asio's; OpenSSL stays behind the library. Nothing of Boost is compiled, unless somebody
        # else in the graph asks for that. A registry wants one version.
        self.requires("boost/1.90.0", transitive_headers=True, options={"header_only": True})
        self.requires("openssl/[>=3 <4]")
        if self.options.with_testing:  # redlock::testing runs scripts with it; the library does not
            self.requires("luajit/2.1.0-beta3")

    def build_requirements(self):
        self.tool_requires("cmake/[>=3.21 <4]")

    def validate(self):
        check_min_cppstd(self, 20)
        oldest = {"gcc": "11", "clang": "16", "apple-clang": "15"}.get(str(self.settings.compiler))
        if oldest and Version(self.settings.compiler.version) < oldest:
            raise ConanInvalidConfiguration(f"{self.name} needs {self.settings.compiler} {oldest} or newer")

    def layout(self):
        cmake_layout(self, src_folder="src")

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES", "BENCHMARKS", "CLI"):
            toolchain.cache_variables[f"REDLOCK_BUILD_{part}"] = False
        if not self.options.with_testing:
            toolchain.cache_variables["REDLOCK_LUA_INCLUDE_DIR"] = "OFF"
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        for folder in (("lib", "cmake"), ("lib", "pkgconfig"), ("share",)):
            rmdir(self, os.path.join(self.package_folder, *folder))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "asio-redlock")
        library = self.cpp_info.components["redlock"]
        library.set_property("cmake_target_name", "redlock::redlock")
        library.set_property("pkg_config_name", "asio-redlock")
        library.libs = ["redlock"]
        library.requires = ["boost::headers", "openssl::ssl", "openssl::crypto"]
        if not self.options.shared:
            library.defines = ["REDLOCK_STATIC_DEFINE"]
        if self.settings.os in ("Linux", "FreeBSD"):
            library.system_libs = ["pthread"]
        elif self.settings.os == "Windows":
            library.system_libs = ["ws2_32", "mswsock"]
        if self.options.with_testing:
            kit = self.cpp_info.components["testing"]
            kit.set_property("cmake_target_name", "redlock::testing")
            kit.set_property("pkg_config_name", "asio-redlock-testing")
            kit.libs = ["redlock_testing"]
            kit.requires = ["redlock", "openssl::openssl", "luajit::luajit"]
