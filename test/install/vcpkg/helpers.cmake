# SPDX-License-Identifier: BSL-1.0
# vcpkg's helper functions as far as the port needs them, in words of our own, after vcpkg's documentation. The real ones
# do more; this finds a portfile that names a wrong path, and a package that does not bear being moved.
# Run as a script, with PORT, CURRENT_PORT_DIR, CURRENT_PACKAGES_DIR, BUILDTREES and VCPKG_LIBRARY_LINKAGE defined.
cmake_minimum_required(VERSION 3.21)

function(run)
    execute_process(COMMAND ${ARGV} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_download_distfile variable)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "FILENAME;SHA512" "URLS")
    file(DOWNLOAD "${arg_URLS}" "${BUILDTREES}/${arg_FILENAME}" EXPECTED_HASH SHA512=${arg_SHA512})
    set(${variable} "${BUILDTREES}/${arg_FILENAME}" PARENT_SCOPE)
endfunction()

# The one folder in the archive is left out.
function(vcpkg_extract_source_archive variable)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "ARCHIVE" "")
    file(ARCHIVE_EXTRACT INPUT "${arg_ARCHIVE}" DESTINATION "${BUILDTREES}/source")
    file(GLOB tree "${BUILDTREES}/source/*")
    set(${variable} "${tree}" PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
    string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" dynamic shared)
    file(WRITE "${BUILDTREES}/luajit/luajit.h" "")
    foreach(type IN ITEMS Debug Release)
        set(prefix "${CURRENT_PACKAGES_DIR}")
        if(type STREQUAL "Debug")
            string(APPEND prefix "/debug")
        endif()
        run("${CMAKE_COMMAND}" -S "${arg_SOURCE_PATH}" -B "${BUILDTREES}/${type}" -G Ninja ${arg_OPTIONS}
            -DCMAKE_BUILD_TYPE=${type} -DBUILD_SHARED_LIBS=${shared} -DCMAKE_INSTALL_PREFIX=${prefix}
            -DCMAKE_INCLUDE_PATH=${BUILDTREES}/luajit -DREDLOCK_LUA_LIBRARIES=luajit-5.1
            -DCMAKE_INSTALL_LIBDIR:STRING=lib -DCMAKE_INSTALL_BINDIR:STRING=bin)
    endforeach()
endfunction()

function(vcpkg_cmake_install)
    foreach(type IN ITEMS Debug Release)
        run("${CMAKE_COMMAND}" --build "${BUILDTREES}/${type}" --target install)
    endforeach()
endfunction()

# <prefix>/<CONFIG_PATH> of both builds becomes one share/<port>, two levels below the prefix.
function(vcpkg_cmake_config_fixup)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
    set(share "${CURRENT_PACKAGES_DIR}/share/${PORT}")
    file(GLOB debug_targets "${CURRENT_PACKAGES_DIR}/debug/${arg_CONFIG_PATH}/*-debug.cmake")
    foreach(targets IN LISTS debug_targets)
        file(READ "${targets}" text)
        string(REPLACE "\${_IMPORT_PREFIX}/lib" "\${_IMPORT_PREFIX}/debug/lib" text "${text}")
        file(WRITE "${targets}" "${text}")
    endforeach()
    file(GLOB configs "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*.cmake")
    if(NOT configs OR NOT debug_targets)
        message(FATAL_ERROR "nothing in ${arg_CONFIG_PATH}")
    endif()
    file(COPY ${configs} ${debug_targets} DESTINATION "${share}")
    set(up "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")
    file(READ "${share}/${PORT}-targets.cmake" text)
    string(REPLACE "${up}${up}${up}" "${up}${up}" text "${text}")
    file(WRITE "${share}/${PORT}-targets.cmake" "${text}")
    file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/lib/cmake" "${CURRENT_PACKAGES_DIR}/debug/lib/cmake")
endfunction()

function(vcpkg_fixup_pkgconfig)
endfunction()

function(vcpkg_install_copyright)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
    file(INSTALL ${arg_FILE_LIST} DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}" RENAME copyright)
endfunction()

include("${CURRENT_PORT_DIR}/portfile.cmake")
