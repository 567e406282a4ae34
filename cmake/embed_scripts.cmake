# SPDX-License-Identifier: BSL-1.0
# redlock_embed_scripts(<target>)
#
# Turns the *.lua files of src/kind/scripts and src/redis/scripts into the header "redis/scripts.hpp" of the build tree and
# lets <target> include it. The hash is that of the embedded text, so the two cannot differ. Comment lines and indentation
# are left out: servers keep each script, and receive all of it if they do not know it. The line "-- with <part>.lua" stands
# for a part that several scripts have in common, and that may have parts itself. A script may also be a part of another.

set(REDLOCK_SOURCES_DIR "${CMAKE_CURRENT_LIST_DIR}/../src")

# The line that names the licence is for the reader of the file, and is not sent to servers.
function(redlock_read_script variable path)
    file(READ "${path}" text)
    string(REGEX REPLACE "^-- SPDX[^\n]*\n" "" text "${text}")
    set(${variable} "${text}" PARENT_SCOPE)
endfunction()

function(redlock_embed_scripts target)
    set(scripts "")
    set(sizes "")
    set(count 0)
    file(GLOB paths CONFIGURE_DEPENDS "${REDLOCK_SOURCES_DIR}/kind/scripts/*.lua"
         "${REDLOCK_SOURCES_DIR}/redis/scripts/*.lua")
    foreach(path IN LISTS paths)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
        cmake_path(GET path STEM name)
        redlock_read_script(text "${path}")
        while(text MATCHES "-- with ([a-z_]+\\.lua)\n")
            set(line "${CMAKE_MATCH_0}")
            set(part "${REDLOCK_SOURCES_DIR}/kind/scripts/parts/${CMAKE_MATCH_1}")
            if(NOT EXISTS "${part}")
                set(part "${REDLOCK_SOURCES_DIR}/kind/scripts/${CMAKE_MATCH_1}")
            endif()
            set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${part}")
            redlock_read_script(common "${part}")
            string(REPLACE "${line}" "${common}" text "${text}")
        endwhile()
        string(REGEX REPLACE "\n *--[^\n]*" "" text "\n${text}")
        string(REGEX REPLACE "\n[ \n]*" "\n" text "${text}")
        string(REGEX REPLACE "^\n" "" text "${text}")
        string(SHA1 sha1 "${text}")
        # Visual C++ refuses a literal of more than 16380 characters, and not a row of shorter ones.
        string(REPLACE "\nlocal function " "\n)lua\" R\"lua(local function " text "${text}")
        string(APPEND scripts
               "inline constexpr script ${name}{R\"lua(${text})lua\",\n    \"${sha1}\", ${count}};\n")
        string(APPEND sizes "static_assert(${name}.text.size() <= longest_script);\n")
        math(EXPR count "${count} + 1")
    endforeach()

    set(include_dir "${PROJECT_BINARY_DIR}/generated")
    file(CONFIGURE OUTPUT "${include_dir}/redis/scripts.hpp" @ONLY CONTENT
"#pragma once

#include \"redis/script.hpp\"

namespace redlock::redis::scripts {

@scripts@
inline constexpr std::size_t count = @count@;
static_assert(count <= most_scripts);
@sizes@
} // namespace redlock::redis::scripts
")
    target_include_directories(${target} PRIVATE "$<BUILD_INTERFACE:${include_dir}>")
endfunction()
