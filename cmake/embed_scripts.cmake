# redlock_embed_scripts(<target>)
#
# Turns src/redis/scripts/*.lua into the header "redis/scripts.hpp" of the build tree and lets <target>
# include it. The hash is taken of the very text that is embedded, so the two cannot drift apart.

set(REDLOCK_SCRIPTS_DIR "${CMAKE_CURRENT_LIST_DIR}/../src/redis/scripts")

function(redlock_embed_scripts target)
    set(scripts "")
    foreach(name IN ITEMS release extend mark fenced_vote fenced_raise fenced_extend fenced_adopt)
        set(path "${REDLOCK_SCRIPTS_DIR}/${name}.lua")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
        file(READ "${path}" text)
        string(SHA1 sha1 "${text}")
        string(APPEND scripts "inline constexpr script ${name}{R\"lua(${text})lua\",\n    \"${sha1}\"};\n")
    endforeach()

    set(include_dir "${PROJECT_BINARY_DIR}/generated")
    file(CONFIGURE OUTPUT "${include_dir}/redis/scripts.hpp" @ONLY CONTENT
"#pragma once

#include <string_view>

namespace redlock::redis {

struct script {
    std::string_view text;
    std::string_view sha1;
};

namespace scripts {

@scripts@
} // namespace scripts
} // namespace redlock::redis
")
    target_include_directories(${target} PRIVATE "$<BUILD_INTERFACE:${include_dir}>")
endfunction()
