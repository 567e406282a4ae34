# SPDX-License-Identifier: BSL-1.0
# Completion tokens that need more than the library does. Missing ones are left out, with a message:
#   redlock_absent_tokens     names of tokens
#   redlock_token_libraries   what the others link
set(redlock_absent_tokens "")
set(redlock_token_libraries "")
find_package(Boost ${Boost_VERSION} EXACT CONFIG QUIET OPTIONAL_COMPONENTS context cobalt)

# redlock_without(token reason): once, however many directories ask
function(redlock_without token reason)
    set(redlock_absent_tokens ${redlock_absent_tokens} ${token} PARENT_SCOPE)
    get_property(said GLOBAL PROPERTY "redlock_without_${token}")
    if(NOT said)
        message(STATUS "asio-redlock: ${reason}, so without what uses ${token}")
        set_property(GLOBAL PROPERTY "redlock_without_${token}" ON)
    endif()
endfunction()

if(Boost_VERSION VERSION_LESS 1.86)
    redlock_without(cancel_after "Boost before 1.86")
endif()
if(TARGET Boost::context)
    list(APPEND redlock_token_libraries Boost::context)
else()
    redlock_without(spawn "no Boost.Context")
endif()
if(TARGET Boost::cobalt)
    list(APPEND redlock_token_libraries Boost::cobalt)
else()
    redlock_without(cobalt "no Boost.Cobalt")
endif()
find_package(stdexec CONFIG QUIET)
if(TARGET STDEXEC::asioexec)
    list(APPEND redlock_token_libraries STDEXEC::asioexec)
else()
    redlock_without(senders "no stdexec with Asio")
endif()
