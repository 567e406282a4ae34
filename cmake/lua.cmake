# SPDX-License-Identifier: BSL-1.0
# redlock::lua is Lua 5.1, or LuaJIT, which serves as well: the servers in memory of redlock::testing run the library's
# scripts with it. Without it there is no such target. This file is installed with the package's configuration, which needs
# it, too. Set REDLOCK_LUA_INCLUDE_DIR and REDLOCK_LUA_LIBRARIES to choose a Lua; OFF leaves it out.
if(NOT TARGET redlock::lua)
    if(NOT DEFINED REDLOCK_LUA_INCLUDE_DIR OR REDLOCK_LUA_INCLUDE_DIR MATCHES "NOTFOUND$")
        find_package(Lua 5.1 EXACT QUIET)
    endif()
    if(LUA_FOUND AND LUA_VERSION_STRING MATCHES "^5\\.1")
        set(REDLOCK_LUA_INCLUDE_DIR "${LUA_INCLUDE_DIR}")
        set(REDLOCK_LUA_LIBRARIES "${LUA_LIBRARIES}")
    else()
        find_path(REDLOCK_LUA_INCLUDE_DIR luajit.h PATH_SUFFIXES luajit-2.1 luajit)
        find_library(REDLOCK_LUA_LIBRARIES NAMES luajit-5.1 luajit lua51)
    endif()
    if(REDLOCK_LUA_INCLUDE_DIR AND REDLOCK_LUA_LIBRARIES)
        add_library(redlock::lua INTERFACE IMPORTED)
        set_target_properties(redlock::lua PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${REDLOCK_LUA_INCLUDE_DIR}"
                                                      INTERFACE_LINK_LIBRARIES "${REDLOCK_LUA_LIBRARIES}")
    endif()
endif()
