#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>

namespace redlock::net {

/// A page of memory that a forked child finds empty. The child so learns what it is without a system call, and nothing
/// that is kept here exists in two processes. Where the system cannot wipe pages the process's id tells.
class process_page {
public:
    static constexpr std::size_t room_size = 4096 - sizeof(std::size_t);

    /// \throws std::bad_alloc
    process_page();
    process_page(process_page const&) = delete;
    process_page& operator=(process_page const&) = delete;
    ~process_page();

    /// Is this process a copy of the one that made the page?
    [[nodiscard]] bool forked() const noexcept { return wiped_on_fork_ ? content_->made_here == 0 : moved(); }
    [[nodiscard]] bool wiped_on_fork() const noexcept { return wiped_on_fork_; }
    /// The rest of the page; zero at first.
    [[nodiscard]] std::span<unsigned char> room() noexcept { return content_->room; }

private:
    struct content {
        std::size_t made_here;
        unsigned char room[room_size];
    };

    [[nodiscard]] bool moved() const noexcept;

    content* content_;
    pid_t maker_;
    bool wiped_on_fork_ = false;
};

} // namespace redlock::net
