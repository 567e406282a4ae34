// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kit/certificates.hpp"
#include "kit/patience.hpp"
#include "kit/text.hpp"

#include <sys/types.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace redlock::test {

using environment = std::map<std::string, std::string>;

/// One run of the tool, in a directory of its own. Its environment contains nothing of ours except the given variables.
/// It ends with this process at the latest.
class tool {
public:
    struct start {
        std::string input{};
        int ignored = 0; ///< a signal
        int blocked = 0; ///< a signal
        int errors = -1; ///< an open file that takes what it says instead of the file "stderr"
        bool terminal =
            false; ///< a terminal of its own, in whose foreground it is; its output goes into files all the same
        bool shows = false; ///< the standard output does not, but to the terminal
    };
    tool(std::vector<std::string> const& arguments, environment const& variables, start const& how);
    explicit tool(std::vector<std::string> const& arguments, environment const& variables = {})
        : tool(arguments, variables, start{})
    {}
    ~tool();
    tool(tool const&) = delete;
    tool& operator=(tool const&) = delete;

    /// Waits for the end. \return the exit status, or 128 and the number of the signal that ended it
    int wait();
    /// Ended by a signal, and did not merely say so.
    [[nodiscard]] bool killed() const { return killed_; }
    void send(int signal) const;
    /// At its terminal.
    void type(char key) const;

    /// Waits until the terminal shows the text. \return all that was shown since the last call
    std::string shown_until(std::string const& text) const;

    /// Its output so far.
    [[nodiscard]] std::string out() const { return read("stdout"); }
    [[nodiscard]] std::string err() const { return read("stderr"); }
    /// A file that the command has left in its directory; empty while there is none.
    [[nodiscard]] std::string read(std::string const& name) const;
    void write(std::string const& name, std::string const& text) const;
    [[nodiscard]] std::string path(std::string const& name) const { return directory_.file(name); }
    [[nodiscard]] pid_t pid() const { return pid_; }

private:
    temporary_directory directory_{"redlock-cli"};
    pid_t pid_ = -1;
    int terminal_ = -1;
    int status_ = -1;
    bool killed_ = false;
};

/// Runs to the end.
struct finished_run {
    explicit finished_run(std::vector<std::string> const& arguments, environment const& variables = {});
    int status;
    std::string out;
    std::string err;
};

[[nodiscard]] bool is_running(std::string const& pid);
/// Stopped by a signal, until the next SIGCONT.
[[nodiscard]] bool is_stopped(std::string const& pid);
/// The signal was sent, and is pending until the process resumes.
[[nodiscard]] bool is_pending(std::string const& pid, int signal);

} // namespace redlock::test
