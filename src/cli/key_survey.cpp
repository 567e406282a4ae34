// SPDX-License-Identifier: BSL-1.0
#include "cli/key_survey.hpp"

#include "cli/taken_permits.hpp"
#include "cli/waiters.hpp"
#include "kind/election.hpp"
#include "kind/fenced.hpp"
#include "kind/kind.hpp"
#include "redis/command.hpp"
#include "redis/error_class.hpp"
#include "redis/server_words.hpp"
#include <redlock/node_outcome.hpp>

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

namespace redlock::cli {

namespace {

/// A step of SCAN: the server looks at about so many of its keys.
constexpr std::string_view step_of_scan = "1000";
/// The number of keys that are asked about in one write.
constexpr std::size_t longest_batch = 256;
/// The bytes of an answer's text that are kept, beside names: another program's value may be long.
constexpr std::size_t longest_text = 1024;

/// The questions about a key that may be a lock: its holder, its fence, its announcement, and two about its queue.
constexpr std::size_t questions_of_holder = 5;

answer const no_string{.type = answer::kind::error, .text = "WRONGTYPE"};

bool is_there(answer const& type)
{
    return type.is(answer::kind::text) && type.text != "none";
}

/// \param answers about the fence, the announcement, and two about the queue
void read_keys_beside(key_view& view, std::span<answer const> answers)
{
    view.fenced = is_there(answers[0]);
    view.announced = is_there(answers[1]);
    if (answers[2].is(answer::kind::number))
        view.waiting = answers[2].number;
    if (auto const queue = read_queue({}, answers[2], answers[3]))
        view.among_readers = has_readers(*queue);
}

/// Did the key end before its readers or permits were counted?
/// \param count of ZCARD, or the owners of permits
bool has_ended(answer const& count)
{
    if (count.is(answer::kind::number))
        return count.number == 0;
    return count.is(answer::kind::list) && std::ranges::all_of(count.list, &std::string::empty);
}

} // namespace

std::string key_survey::trouble() const
{
    if (hidden_ == 0 || asked_ == step::failed)
        return redis::quote(trouble_);
    return std::to_string(hidden_) + (hidden_ == 1 ? " key" : " keys") +
           " may not be read: " + redis::quote(trouble_);
}

void key_survey::note(answer const& refusal)
{
    if (trouble_.empty())
        trouble_ = refusal.text;
}

bool key_survey::refused(answer const& a)
{
    if (!a.refused())
        return false;
    if (redis::is_about_keys(a.text)) { // a user may have a right to some keys only
        ++hidden_;
    } else if (asked_ != step::failed) {
        asked_ = step::failed;
        trouble_.clear();
    }
    note(a);
    return true;
}

/// Only a smaller name can still be one of the first.
bool key_survey::is_beyond_limit(std::string const& name) const
{
    return found_.size() > terms_.limit && found_.rbegin()->first < name;
}

void key_survey::list(seen one)
{
    if (one.view.who == holder_kind::no_lock && !terms_.all)
        return;
    found_.insert_or_assign(std::move(one.name), std::move(one.view));
    if (found_.size() > terms_.limit + 1)
        found_.erase(std::prev(found_.end()));
}

questions key_survey::next(std::vector<answer> const& answers, std::chrono::milliseconds now)
{
    read(answers, now);
    asked_ = following();
    return ask();
}

void key_survey::read(std::vector<answer> const& answers, std::chrono::milliseconds now)
{
    switch (asked_) {
    case step::scan: return read_keys(answers.front());
    case step::look: return read_types(answers);
    case step::ask: return read_holders(answers);
    case step::count: return read_counts(answers, now);
    default: return;
    }
}

key_survey::step key_survey::following() const
{
    switch (asked_) {
    case step::done:
    case step::failed: return asked_;
    case step::begin: return step::scan;
    default: break;
    }
    if (!batch_.empty())
        return asked_ == step::look ? step::ask : step::count;
    if (!names_.empty())
        return step::look;
    return cursor_ == "0" ? step::done : step::scan;
}

questions key_survey::ask()
{
    questions asked;
    if (asked_ != step::scan)
        asked.longest = longest_text;
    switch (asked_) {
    case step::scan:
        asked.ask({"SCAN", cursor_, "MATCH", scan_pattern(key_of(terms_.beginning)), "COUNT", step_of_scan});
        break;
    case step::look: ask_for_types(asked); break;
    case step::ask:
        for (seen const& one : batch_)
            ask_for_holder(asked, one);
        break;
    case step::count:
        for (seen const& one : batch_)
            ask_for_count(asked, one);
        break;
    default: break;
    }
    return asked;
}

void key_survey::read_keys(answer const& page)
{
    if (refused(page))
        return;
    if (page.list.empty()) {
        (void)refused({.type = answer::kind::error, .text = "no answer to SCAN"});
        return;
    }
    cursor_ = page.list.front();
    std::string const beginning = key_of(terms_.beginning);
    for (std::string const& key : page.inner) {
        if (!key.starts_with(beginning))
            continue;
        std::string name = key.substr(terms_.key_prefix.size());
        if (!name.empty() && !is_helper(name) && !is_beyond_limit(name))
            names_.push_back(std::move(name));
    }
}

void key_survey::ask_for_types(questions& asked)
{
    while (!names_.empty() && batch_.size() != longest_batch) {
        std::string const key = key_of(names_.back());
        asked.ask({"TYPE", key});
        asked.ask({"PTTL", key});
        batch_.push_back({.name = std::move(names_.back())});
        names_.pop_back();
    }
}

/// Keeps the keys that may be locks: those of a lock's type that expire.
void key_survey::read_types(std::vector<answer> const& answers)
{
    std::vector<seen> rest;
    for (std::size_t i = 0; i != batch_.size(); ++i) {
        seen& one = batch_[i];
        answer const& type = answers[2 * i];
        one.left = answers[2 * i + 1];
        if (refused(type) || refused(one.left))
            continue;
        if (!is_there(type) || one.left.number == -2) // it has ended since
            continue;
        one.is_string = type.text == "string";
        if (one.left.number >= 0)
            one.view.left = std::chrono::milliseconds{one.left.number};
        if (one.view.left && (one.is_string || type.text == "zset" || type.text == "hash")) {
            rest.push_back(std::move(one));
        } else {
            one.view.who = holder_kind::no_lock;
            list(std::move(one));
        }
    }
    batch_ = std::move(rest);
}

void key_survey::ask_for_holder(questions& asked, seen const& one) const
{
    std::string const key = key_of(one.name);
    if (one.is_string) {
        asked.ask({"GETRANGE", key, "0", "63"}); // another program's value may be long
    } else {
        kind::plain.append(asked.bytes, kind::request::whose, {{terms_.key_prefix, one.name}, {}},
                           redis::script_form::text);
        ++asked.count;
    }
    asked.ask({"TYPE", redis::joined_name(key, kind::fence_suffix)});
    asked.ask({"TYPE", redis::joined_name(key, kind::leader_suffix)});
    ask_for_queue(asked, key);
}

/// Reads who has the key, if it still is what it was.
bool key_survey::read_holder(seen& one, answer const& holder)
{
    if (one.is_string && !holder.is(answer::kind::text)) {
        (void)(is_wrong_type(holder) || refused(holder));
        return false;
    }
    if (one.is_string) {
        one.view.who = holder_kind::owner;
        one.view.owner = holder.text;
        return !holder.text.empty(); // or the key has ended
    }
    one.view.who = holder_of(no_string, one.left, holder);
    if (one.view.who == holder_kind::unknown) // it has ended since
        return false;
    if (one.view.who != holder_kind::maybe_readers)
        return true;
    if (holder.refused())
        note(holder);
    return holder.refused();
}

/// Keeps the keys that several clients share.
void key_survey::read_holders(std::vector<answer> const& answers)
{
    std::vector<seen> rest;
    for (std::size_t i = 0; i != batch_.size(); ++i) {
        seen& one = batch_[i];
        auto const its = std::span(answers).subspan(i * questions_of_holder, questions_of_holder);
        if (!read_holder(one, its[0]))
            continue;
        read_keys_beside(one.view, its.subspan(1));
        bool const shared = one.view.who == holder_kind::readers || one.view.who == holder_kind::permits;
        if (shared)
            rest.push_back(std::move(one));
        else
            list(std::move(one));
    }
    batch_ = std::move(rest);
}

void key_survey::ask_for_count(questions& asked, seen const& one) const
{
    std::string const key = key_of(one.name);
    if (one.view.who == holder_kind::readers)
        asked.ask({"ZCARD", key});
    else
        ask_for_permits(asked, key);
}

void key_survey::read_counts(std::vector<answer> const& answers, std::chrono::milliseconds now)
{
    std::size_t at = 0;
    for (seen& one : batch_) {
        answer const& first = answers[at++];
        if (one.view.who == holder_kind::readers)
            one.view.readers = first.number;
        else
            count_permits(one.view.permits, first, answers[at++], now);
        if (first.refused())
            note(first);
        if (!has_ended(first))
            list(std::move(one));
    }
    batch_.clear();
}

} // namespace redlock::cli
