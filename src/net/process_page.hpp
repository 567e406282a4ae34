// SPDX-License-Identifier: BSL-1.0
// rule A3
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace redlock::net {

/// A page of memory that a forked child finds empty. So the child recognises itself without a system call, and nothing
/// in the page exists in two processes. A machine makes the page; if the machine cannot wipe pages, it is asked
/// instead.
class process_page {
public:
    static constexpr std::size_t storage_size = 4096 - sizeof(std::size_t);

    struct content {
        std::size_t maker; ///< the process that made it, as the machine counts them; a wiped page has none
        unsigned char room[storage_size];
    };
    using memory = std::unique_ptr<content, void (*)(content*) noexcept>;
    using question = bool(std::size_t maker) noexcept;

    /// \param made zero but for the maker
    /// \param is_copy for pages that are not wiped: is this process another one?
    explicit process_page(memory made, question* is_copy = nullptr) noexcept
        : content_(std::move(made)), is_copy_(is_copy)
    {}

    /// Is this process a copy of the one that made the page?
    [[nodiscard]] bool forked() const noexcept
    {
        return is_copy_ ? is_copy_(content_->maker) : content_->maker == 0;
    }
    [[nodiscard]] bool wiped_on_fork() const noexcept { return is_copy_ == nullptr; }
    /// The rest of the page; zero at first.
    [[nodiscard]] std::span<unsigned char> room() noexcept { return content_->room; }

private:
    memory content_;
    question* is_copy_;
};

} // namespace redlock::net
