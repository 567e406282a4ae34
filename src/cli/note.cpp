// SPDX-License-Identifier: BSL-1.0
#include "cli/note.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

namespace redlock::cli {

namespace {

bool broken_pipes_were_ignored = false;

bool has_room(int file)
{
    pollfd asked{.fd = file, .events = POLLOUT, .revents = 0};
    return ::poll(&asked, 1, 0) == 1 && (asked.revents & POLLOUT) != 0;
}

void write_all(int file, std::string const& line)
{
    [[maybe_unused]] auto const written = ::write(file, line.data(), line.size());
}

/// The command writes there, too, and may take the room between a check and the write. So the write itself must not
/// wait. That is a property of the open file, which is not ours alone: the file is opened once more for us.
void write_without_waiting(std::string const& line)
{
    int const own = ::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own >= 0) {
        write_all(own, line);
        ::close(own);
    } else if (has_room(STDERR_FILENO)) { // another user's, or no files left
        write_all(STDERR_FILENO, line);
    }
}

} // namespace

void note(std::string line)
{
    if (line.size() > longest_remark) {
        line.resize(longest_remark);
        line.back() = '\n';
    }
    struct stat what {};
    if (::fstat(STDERR_FILENO, &what) != 0)
        return;
    if (S_ISSOCK(what.st_mode))
        ::send(STDERR_FILENO, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    else if (S_ISREG(what.st_mode))
        write_all(STDERR_FILENO, line); // waits for no reader, and has a position for the next byte
    else
        write_without_waiting(line);
}

void survive_broken_pipes()
{
    broken_pipes_were_ignored = ::signal(SIGPIPE, SIG_IGN) == SIG_IGN;
}

void restore_broken_pipes()
{
    ::signal(SIGPIPE, broken_pipes_were_ignored ? SIG_IGN : SIG_DFL);
}

} // namespace redlock::cli
