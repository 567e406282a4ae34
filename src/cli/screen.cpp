// SPDX-License-Identifier: BSL-1.0
#include "cli/screen.hpp"

#include "cli/exit_status.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string_view>

namespace redlock::cli {

namespace {

/// The cursor goes to the beginning of the terminal. Longer lines are cut while the text is written.
constexpr std::string_view begin_drawing = "\x1b[H\x1b[2J\x1b[?7l";
constexpr std::string_view end_drawing = "\x1b[?7h";

/// Nothing has to be undone, but perhaps the drawing.
void end_watching(int)
{
    if (::isatty(STDOUT_FILENO) == 1) {
        [[maybe_unused]] auto const written = ::write(STDOUT_FILENO, end_drawing.data(), end_drawing.size());
    }
    ::_exit(exit_status::success);
}

} // namespace

std::string first_lines(std::string const& text, std::size_t lines)
{
    auto const all = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    if (all <= lines || lines == 0)
        return text;
    std::size_t end = 0;
    for (std::size_t i = 1; i != lines; ++i)
        end = text.find('\n', end) + 1;
    return text.substr(0, end) + "... and " + std::to_string(all - lines + 1) + " lines more\n";
}

void end_at_interrupt()
{
    struct sigaction former {};
    ::sigaction(SIGINT, nullptr, &former);
    if (former.sa_handler != SIG_IGN)
        ::signal(SIGINT, end_watching);
}

std::string in_place(std::string const& text)
{
    if (::isatty(STDOUT_FILENO) != 1)
        return text + '\n';
    winsize size{};
    ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    std::size_t const lines = size.ws_row == 0 ? 0 : size.ws_row - 1U; // the cursor has the last line
    return std::string(begin_drawing) + first_lines(text, lines) + std::string(end_drawing);
}

} // namespace redlock::cli
