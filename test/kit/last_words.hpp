// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>

namespace redlock::test {

struct last_words {
    std::string said{};
    int status = -1; ///< in the form of waitpid(2)
};

/// Reads the pipe of a copy of this process until the copy ends.
inline last_words hear_out(std::array<int, 2> const& pipe, pid_t copy)
{
    ::close(pipe[1]);
    last_words heard;
    std::array<char, 4096> some{};
    for (ssize_t n = 0; (n = ::read(pipe[0], some.data(), some.size())) > 0 || (n < 0 && errno == EINTR);)
        if (n > 0)
            heard.said.append(some.data(), static_cast<std::size_t>(n));
    ::close(pipe[0]);
    while (::waitpid(copy, &heard.status, 0) == -1 && errno == EINTR)
        ;
    return heard;
}

/// The same for work that gets the pipe's writing end, in a copy made for it.
template <class Work>
last_words last_words_of(Work work)
{
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe");
    pid_t const copy = ::fork();
    if (copy == 0) {
        work(ends[1]);
        ::_exit(0);
    }
    return hear_out(ends, copy);
}

} // namespace redlock::test
