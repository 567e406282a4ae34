// SPDX-License-Identifier: BSL-1.0
#include "engine/nonce_source.hpp"
#include "kit/last_words.hpp"
#include "net/leaf/this_machine.hpp"

#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <set>
#include <string>

using namespace redlock;

namespace {

constexpr std::size_t more_than_a_page = 300;

std::set<std::string> draw(detail::nonce_source& from)
{
    std::set<std::string> drawn;
    for (std::size_t i = 0; i != more_than_a_page; ++i)
        drawn.emplace(from.next().text());
    return drawn;
}

/// Returns the text that a copy of this process writes.
template <class Work>
std::string said_by_copy(Work work)
{
    auto const heard = test::last_words_of([&](int pipe) {
        std::string const text = work();
        if (::write(pipe, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
            ::_exit(1);
    });
    BOOST_TEST(heard.status == 0);
    return heard.said;
}

} // namespace

BOOST_AUTO_TEST_SUITE(nonces)

// rule A3
BOOST_AUTO_TEST_CASE(forked_process_draws_other_nonces)
{
    auto const here = net::this_machine();
    net::process_page page = here->make_page();
    detail::nonce_source source(*here, page);
    static_cast<void>(source.next()); // there are nonces in stock now
    std::string const theirs = said_by_copy([&] {
        std::string all;
        for (std::string const& each : draw(source))
            all += each;
        return all;
    });
    std::set<std::string> all = draw(source);
    for (std::size_t i = 0; i != theirs.size(); i += redis::nonce_length)
        all.insert(theirs.substr(i, redis::nonce_length));
    BOOST_TEST(theirs.size() == more_than_a_page * redis::nonce_length);
    BOOST_TEST(all.size() == 2 * more_than_a_page);
}

// rule A3
BOOST_AUTO_TEST_CASE(process_page_detects_fork_in_child_only)
{
    auto const page = net::this_machine()->make_page();
    BOOST_TEST(!page.forked());
    std::string const copy = said_by_copy([&] {
        auto const own = net::this_machine()->make_page();
        return std::string(page.forked() ? "copy" : "maker") + (own.forked() ? " copy" : " maker");
    });
    BOOST_TEST(copy == "copy maker");
    BOOST_TEST(!page.forked());
}

BOOST_AUTO_TEST_SUITE_END()
