// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cli/answer.hpp"
#include "cli/lock_list.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace redlock::cli {

/// The keys that a survey lists.
struct survey_terms {
    std::string key_prefix{}; ///< begins all keys of the client
    std::string beginning{};  ///< begins the names
    bool all = false;         ///< also keys that are no locks
    std::size_t limit = 0;    ///< so many names are kept, and one more: the first ones
};

/// Goes through the keys of one node in steps, and asks what they are. Pure: makes questions from answers.
class key_survey {
public:
    explicit key_survey(survey_terms terms) : terms_(std::move(terms)) {}

    /// Reads the answers to the last questions, and returns the next ones; none: the survey is over.
    /// \param now by the node's clock, since 1970
    [[nodiscard]] questions next(std::vector<answer> const& answers, std::chrono::milliseconds now);

    [[nodiscard]] keys_of_node take() { return std::move(found_); }
    /// Did the node answer all that is needed to list its locks?
    [[nodiscard]] bool complete() const { return asked_ == step::done; }
    /// The server's refusal, if there was any; also of a question that is not needed.
    [[nodiscard]] std::string trouble() const;

private:
    enum class step : std::uint8_t {
        begin,
        scan,  ///< the next keys
        look,  ///< their types and times
        ask,   ///< the holders of those that may be locks, and the keys beside them
        count, ///< readers and permits
        done,
        failed
    };
    struct seen {
        std::string name;
        answer left{};
        bool is_string = false;
        key_view view{};
    };

    void read(std::vector<answer> const&, std::chrono::milliseconds now);
    void read_keys(answer const&);
    void read_types(std::vector<answer> const&);
    [[nodiscard]] bool read_holder(seen&, answer const& holder);
    void read_holders(std::vector<answer> const&);
    void read_counts(std::vector<answer> const&, std::chrono::milliseconds now);
    [[nodiscard]] step following() const;
    [[nodiscard]] questions ask();
    void ask_for_types(questions&);
    void ask_for_holder(questions&, seen const&) const;
    void ask_for_count(questions&, seen const&) const;
    [[nodiscard]] std::string key_of(std::string const& name) const { return terms_.key_prefix + name; }
    /// Is this an error? If it is not about this key alone, the survey fails.
    [[nodiscard]] bool refused(answer const&);
    [[nodiscard]] bool is_beyond_limit(std::string const& name) const;
    void list(seen);
    void note(answer const&);

    survey_terms terms_;
    step asked_ = step::begin;
    std::string cursor_ = "0";
    std::vector<std::string> names_{}; ///< not looked at yet
    std::vector<seen> batch_{};        ///< keys that the last questions are about
    std::size_t hidden_ = 0;           ///< keys that the user may not read
    std::string trouble_{};
    keys_of_node found_{};
};

} // namespace redlock::cli
