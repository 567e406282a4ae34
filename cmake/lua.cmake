# SPDX-License-Identifier: BSL-1.0
# redlock::lua is LuaJIT, or Lua 5.1, which serves as well: the servers in memory of redlock::testing run the library's
# scripts with it. Without it there is no such target. This file is installed with the package's configuration, which needs
# it, too. Set REDLOCK_LUA_INCLUDE_DIR and REDLOCK_LUA_LIBRARIES to choose a Lua; OFF leaves it out.
# FindLua is not used: its cached variables belong to the project, which may want another Lua.
if(NOT TARGET redlock::lua)
    if(NOT DEFINED REDLOCK_LUA_INCLUDE_DIR)
        find_path(REDLOCK_LUAJIT_DIR luajit.h PATH_SUFFIXES luajit-2.1 luajit)
        find_library(REDLOCK_LUAJIT_LIBRARY NAMES luajit-5.1 luajit lua51)
        find_file(REDLOCK_LUA_HEADER NAMES lua5.1/lua.h lua-5.1/lua.h lua51/lua.h)
        find_library(REDLOCK_LUA_LIBRARY NAMES lua5.1 lua-5.1 lua51 PATH_SUFFIXES lua5.1)
        mark_as_advanced(REDLOCK_LUAJIT_DIR REDLOCK_LUAJIT_LIBRARY REDLOCK_LUA_HEADER REDLOCK_LUA_LIBRARY)
        if(REDLOCK_LUAJIT_DIR AND REDLOCK_LUAJIT_LIBRARY)
            set(REDLOCK_LUA_INCLUDE_DIR "${REDLOCK_LUAJIT_DIR}")
            set(REDLOCK_LUA_LIBRARIES "${REDLOCK_LUAJIT_LIBRARY}")
        elseif(REDLOCK_LUA_HEADER AND REDLOCK_LUA_LIBRARY)
            get_filename_component(REDLOCK_LUA_INCLUDE_DIR "${REDLOCK_LUA_HEADER}" DIRECTORY)
            set(REDLOCK_LUA_LIBRARIES "${REDLOCK_LUA_LIBRARY}")
        endif()
    endif()
    if(REDLOCK_LUA_INCLUDE_DIR AND REDLOCK_LUA_LIBRARIES)
        add_library(redlock::lua INTERFACE IMPORTED)
        set_target_properties(redlock::lua PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${REDLOCK_LUA_INCLUDE_DIR}"
                                                      INTERFACE_LINK_LIBRARIES "${REDLOCK_LUA_LIBRARIES}")
    endif()
endif()
