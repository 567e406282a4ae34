// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/client.hpp>
#include <redlock/config.hpp>
#include <redlock/error.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace redlock::test {

/// A password that no refusal may show, nor a half of it.
inline std::string const secret = "Xyzzy-Plugh";

/// The refusal's text; empty when it was accepted.
template <class Make>
std::string refusal(Make make)
{
    try {
        make();
    } catch (lock_error const& e) {
        std::string const text = e.what();
        BOOST_TEST(e.code() == make_error_code(errc::misconfigured));
        auto const whose = e.resource().empty() ? std::string() : "lock \"" + e.resource() + "\": ";
        BOOST_TEST((text.starts_with(whose + "misconfigured: ") || e.resource().size() > 200), text);
        BOOST_TEST((text.find("Xyzzy") == std::string::npos), text);
        BOOST_TEST((text.find("Plugh") == std::string::npos), text);
        return text;
    }
    return {};
}

inline std::string of_client(config const& settings)
{
    boost::asio::io_context context;
    return refusal([&] { client(context.get_executor(), settings); });
}

inline std::string of_nodes(std::vector<std::string> const& urls)
{
    config settings;
    settings.nodes = urls;
    return of_client(settings);
}

inline void names(std::string const& text, std::vector<std::string> const& parts)
{
    BOOST_TEST(!text.empty(), "accepted, without " << parts.front());
    for (auto const& part : parts)
        BOOST_TEST((text.find(part) != std::string::npos), text << " - without: " << part);
}

} // namespace redlock::test
