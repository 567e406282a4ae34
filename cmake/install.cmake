# SPDX-License-Identifier: BSL-1.0
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/asio-redlock")
set(development asio-redlock_Development)
set(tool asio-redlock_cli)

if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.23)
    set(file_set FILE_SET HEADERS COMPONENT ${development})
else()
    set(file_set)
    install(
        DIRECTORY include/redlock "${PROJECT_BINARY_DIR}/include/redlock"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        COMPONENT ${development})
endif()
set(kit)
if(TARGET redlock_testing)
    set(kit redlock_testing)
endif()
install(
    TARGETS redlock ${kit}
    EXPORT asio-redlock-targets
    RUNTIME COMPONENT asio-redlock_Runtime
    LIBRARY COMPONENT asio-redlock_Runtime NAMELINK_COMPONENT ${development}
    ARCHIVE COMPONENT ${development}
    INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    ${file_set})
install(
    EXPORT asio-redlock-targets
    NAMESPACE redlock::
    DESTINATION "${package_dir}"
    COMPONENT ${development})

configure_package_config_file(
    cmake/asio-redlock-config.cmake.in asio-redlock-config.cmake
    INSTALL_DESTINATION "${package_dir}"
    NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(asio-redlock-config-version.cmake COMPATIBILITY SameMajorVersion)
install(
    FILES "${PROJECT_BINARY_DIR}/asio-redlock-config.cmake" "${PROJECT_BINARY_DIR}/asio-redlock-config-version.cmake"
          cmake/lua.cmake
    DESTINATION "${package_dir}"
    COMPONENT ${development})

# pkg-config: relative to the file itself, so that the installed tree can be moved.
set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" up "${up}")
    set(pc_prefix "\${pcfiledir}/${up}")
endif()
cmake_path(APPEND pc_libdir "\${prefix}" "${CMAKE_INSTALL_LIBDIR}")
cmake_path(APPEND pc_includedir "\${prefix}" "${CMAKE_INSTALL_INCLUDEDIR}")
if(BUILD_SHARED_LIBS)
    set(pc_cflags "")
    set(pc_requires "Requires.private")
else()
    set(pc_cflags " -DREDLOCK_STATIC_DEFINE")
    set(pc_requires "Requires")
endif()
set(pc_libs "")
if(MINGW)
    set(pc_libs " -lws2_32 -lmswsock")
endif()
set(packages asio-redlock)
if(kit)
    list(APPEND packages asio-redlock-testing)
    list(JOIN REDLOCK_LUA_LIBRARIES " " lua_libraries)
endif()
foreach(package IN LISTS packages)
    configure_file("cmake/${package}.pc.in" "${package}.pc" @ONLY)
    install(
        FILES "${PROJECT_BINARY_DIR}/${package}.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
        COMPONENT ${development})
endforeach()
if(REDLOCK_BUILD_CLI)
    install(TARGETS redlock_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT ${tool})
    install(
        FILES docs/man/redlock.1
        DESTINATION "${CMAKE_INSTALL_MANDIR}/man1"
        COMPONENT ${tool})
    install(
        FILES src/cli/completion/redlock
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
        COMPONENT ${tool})
    install(
        FILES src/cli/completion/_redlock
        DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions"
        COMPONENT ${tool})
    install(
        FILES src/cli/completion/redlock.fish
        DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d"
        COMPONENT ${tool})
endif()
install(
    FILES LICENSE
    DESTINATION "${CMAKE_INSTALL_DOCDIR}"
    COMPONENT ${development})
