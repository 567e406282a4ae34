// SPDX-License-Identifier: BSL-1.0
#include <redlock/redlock.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>

#include <cstddef>
#include <exception>
#include <iostream>
#include <string_view>

namespace {

namespace asio = boost::asio;

void say(std::string_view what, auto answer)
{
    std::cout << what << ": " << answer << '\n';
}

redlock::config settings()
{
    redlock::config result;
    result.nodes = {"redis://127.0.0.1:1"};
    return result;
}

/// Work that begins inside the executor needs no hop: the library has to see which executor the program's thread runs.
template <class Executor>
std::size_t handlers_of_a_shutdown(asio::io_context& context, Executor executor)
{
    redlock::client locks(executor, settings());
    asio::post(executor, [&] { locks.shutdown([](boost::system::error_code) {}); });
    context.restart();
    return context.run();
}

std::string_view caught_as()
{
    asio::io_context context;
    try {
        redlock::client locks(context, redlock::config{});
    } catch (redlock::lock_error const&) {
        return "lock_error";
    } catch (boost::system::system_error const&) {
        return "system_error";
    }
    return "nothing";
}

} // namespace

/// Never called: that it links is enough. It names everything that templates of the headers call in the library.
void everything_that_begins(redlock::client& locks, redlock::mutex& lock, redlock::lease& held)
{
    lock.acquire([](boost::system::error_code, redlock::lease) {});
    lock.acquire()([](std::exception_ptr, redlock::lease) {});
    lock.inspect(redlock::with_diagnostics([](std::exception_ptr, redlock::inspection) {}));
    held.ended([](boost::system::error_code, redlock::lease_end) {});
    held.extend(redlock::with_diagnostics([](std::exception_ptr) {}));
    locks.shutdown([](boost::system::error_code) {});
}

/// Says what a program sees of a library that it shares Asio with. It is the same whichever way it is linked.
int main()
{
    asio::io_context context;
    say("handlers, context", handlers_of_a_shutdown(context, context.get_executor()));
    say("handlers, strand", handlers_of_a_shutdown(context, asio::make_strand(context)));

    asio::any_io_executor const theirs = redlock::lease().get_executor();
    asio::any_io_executor const ours = asio::system_executor();
    say("one kind of executor", theirs == ours);
    say("one system context",
        &asio::query(theirs, asio::execution::context) == &asio::query(ours, asio::execution::context));
    say("an error is caught as", caught_as());
}
