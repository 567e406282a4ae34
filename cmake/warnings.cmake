# SPDX-License-Identifier: BSL-1.0
# Linked PRIVATE by this project's own targets only: a consumer never compiles with these.
add_library(redlock_warnings INTERFACE)
if(MSVC)
    target_compile_options(redlock_warnings INTERFACE /W4 $<$<BOOL:${REDLOCK_WARNINGS_AS_ERRORS}>:/WX>)
    return()
endif()
target_compile_options(
    redlock_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion
                               $<$<NOT:$<BOOL:$<TARGET_PROPERTY:REDLOCK_MAY_SHADOW>>>:-Wshadow>
                               # Clang 19 reports what libstdc++ 12 does in stable_sort; g++ reports ours.
                               $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>
                               $<$<BOOL:${REDLOCK_WARNINGS_AS_ERRORS}>:-Werror>)
