// SPDX-License-Identifier: BSL-1.0
#pragma once

/// \file
/// The settings that must be the same in a program and in the library's binary, as names that the linker compares.
///
/// Both share types of Boost. Their layouts, and inline functions of which a program keeps one copy for both, depend on
/// Boost's version and on these settings. Therefore they are part of the names of symbols that every program needs: a
/// program that was compiled with other settings does not link, and the linker's message shows what it was compiled with,
/// as in `redlock::client::client[abi:asio_no_threads][abi:boost_1_81]` (docs/howto/install.md, "What the linker says").
/// Default settings are not named.

#include <redlock/detail/export.hpp>

#include <boost/asio/detail/config.hpp>
#include <boost/version.hpp>

/// Define it before, as the binary's names show it, to link although the settings differ.
#ifndef REDLOCK_BUILT_WITH

#ifdef REDLOCK_LIBRARY_BOOST_VERSION
static_assert(BOOST_VERSION == REDLOCK_LIBRARY_BOOST_VERSION,
              "asio-redlock was built with Boost " REDLOCK_LIBRARY_BOOST
              ", and this program is compiled with Boost " BOOST_LIB_VERSION
              ": compile it with the former, or build asio-redlock with the latter");
#endif

// Names of a symbol are a list. Microsoft's linker compares one text.
#if defined(_MSC_VER)
#define REDLOCK_NEXT_NAME(name) "+" name
#else
#define REDLOCK_NEXT_NAME(name) , name
#endif

// Asio's operations have a further member.
#if defined(BOOST_ASIO_CUSTOM_HANDLER_TRACKING)
#define REDLOCK_WITH_TRACKING REDLOCK_NEXT_NAME("asio_custom_handler_tracking")
#elif defined(BOOST_ASIO_ENABLE_HANDLER_TRACKING)
#define REDLOCK_WITH_TRACKING REDLOCK_NEXT_NAME("asio_handler_tracking")
#else
#define REDLOCK_WITH_TRACKING
#endif

// Without threads Asio's mutexes are empty; also if the compiler was given no option for threads.
#if defined(BOOST_ASIO_HAS_THREADS)
#define REDLOCK_WITH_THREADS
#else
#define REDLOCK_WITH_THREADS REDLOCK_NEXT_NAME("asio_no_threads")
#endif

// The list of executors that a thread runs. If program and library keep two lists, no thread is ever inside an
// executor.
#if defined(BOOST_ASIO_DISABLE_THREAD_KEYWORD_EXTENSION)
#define REDLOCK_WITH_THREAD_KEYWORD REDLOCK_NEXT_NAME("asio_no_thread_keyword")
#else
#define REDLOCK_WITH_THREAD_KEYWORD
#endif

// How an io_context waits for its sockets, and is interrupted.
#if defined(BOOST_ASIO_HAS_IO_URING_AS_DEFAULT)
#define REDLOCK_WITH_IO_URING REDLOCK_NEXT_NAME("asio_io_uring_as_default")
#elif defined(BOOST_ASIO_HAS_IO_URING)
#define REDLOCK_WITH_IO_URING REDLOCK_NEXT_NAME("asio_io_uring")
#else
#define REDLOCK_WITH_IO_URING
#endif
#if defined(BOOST_ASIO_HAS_EPOLL)
#define REDLOCK_WITH_EPOLL
#else
#define REDLOCK_WITH_EPOLL REDLOCK_NEXT_NAME("asio_no_epoll")
#endif
#if defined(BOOST_ASIO_HAS_EVENTFD)
#define REDLOCK_WITH_EVENTFD
#else
#define REDLOCK_WITH_EVENTFD REDLOCK_NEXT_NAME("asio_no_eventfd")
#endif

// Data that Asio stores for a thread: an exception, and memory that one side allocates and the other releases.
#if defined(BOOST_ASIO_NO_EXCEPTIONS)
#define REDLOCK_WITH_EXCEPTIONS REDLOCK_NEXT_NAME("asio_no_exceptions")
#else
#define REDLOCK_WITH_EXCEPTIONS
#endif
#if defined(BOOST_ASIO_DISABLE_SMALL_BLOCK_RECYCLING)
#define REDLOCK_WITH_RECYCLING REDLOCK_NEXT_NAME("asio_no_small_block_recycling")
#elif defined(BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE) && BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE != 2
#define REDLOCK_WITH_TEXT_OF(number) #number
#define REDLOCK_WITH_TEXT(number) REDLOCK_WITH_TEXT_OF(number)
#define REDLOCK_WITH_RECYCLING                                                                               \
    REDLOCK_NEXT_NAME("asio_cache_size_" REDLOCK_WITH_TEXT(BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE))
#else
#define REDLOCK_WITH_RECYCLING
#endif

// How a context identifies its services, and an executor its target; the type any_io_executor.
#if defined(BOOST_ASIO_NO_TYPEID)
#define REDLOCK_WITH_TYPEID REDLOCK_NEXT_NAME("asio_no_typeid")
#else
#define REDLOCK_WITH_TYPEID
#endif
#if defined(BOOST_ASIO_USE_TS_EXECUTOR_AS_DEFAULT)
#define REDLOCK_WITH_EXECUTOR REDLOCK_NEXT_NAME("asio_ts_executor_as_default")
#else
#define REDLOCK_WITH_EXECUTOR
#endif

// Checked buffers; containers and strings with another layout. The first is part of the second.
#if defined(_GLIBCXX_DEBUG)
#define REDLOCK_WITH_DEBUGGING REDLOCK_NEXT_NAME("glibcxx_debug")
#elif defined(BOOST_ASIO_ENABLE_BUFFER_DEBUGGING)
#define REDLOCK_WITH_DEBUGGING REDLOCK_NEXT_NAME("asio_buffer_debugging")
#else
#define REDLOCK_WITH_DEBUGGING
#endif
#if defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
#define REDLOCK_WITH_STRINGS REDLOCK_NEXT_NAME("glibcxx_old_strings")
#else
#define REDLOCK_WITH_STRINGS
#endif

#define REDLOCK_BUILT_WITH                                                                                   \
    "boost_" BOOST_LIB_VERSION REDLOCK_WITH_TRACKING REDLOCK_WITH_THREADS REDLOCK_WITH_THREAD_KEYWORD        \
        REDLOCK_WITH_IO_URING REDLOCK_WITH_EPOLL REDLOCK_WITH_EVENTFD REDLOCK_WITH_EXCEPTIONS                \
            REDLOCK_WITH_RECYCLING REDLOCK_WITH_TYPEID REDLOCK_WITH_EXECUTOR REDLOCK_WITH_DEBUGGING          \
                REDLOCK_WITH_STRINGS

#endif

/// Put on the constructor of `client`, which every program calls, and on a type in the signature of every operation. A
/// name costs nothing at run time, and no linker option removes it.
#if defined(_MSC_VER)
#pragma detect_mismatch("redlock", REDLOCK_BUILT_WITH)
#define REDLOCK_NAMED_BY_BUILD
#else
#define REDLOCK_NAMED_BY_BUILD __attribute__((abi_tag(REDLOCK_BUILT_WITH)))
#endif
