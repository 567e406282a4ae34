// SPDX-License-Identifier: BSL-1.0
// A balance in SQLite that only the latest holder of a lock may change: the table remembers the largest fencing token it
// has seen, and a holder that was paused beyond its lease is refused. The same two statements work in any SQL database.
//
//   08_fenced_sqlite [redis-url...]     without URLs it starts three servers of its own

#include "run.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

class accounts {
public:
    accounts()
    {
        sqlite3* opened = nullptr;
        int const result = sqlite3_open(":memory:", &opened);
        database_.reset(opened);
        if (result != SQLITE_OK)
            throw std::runtime_error("cannot open the database");
        run("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, fence INTEGER NOT "
            "NULL)");
        run("INSERT INTO account VALUES (7, 100, 0)");
    }

    /// Fence first: shows the token, then reads. Nothing: a later holder has been here.
    std::optional<int> read(std::uint64_t token)
    {
        if (changed("UPDATE account SET fence = ?1 WHERE id = 7 AND fence <= ?1", token) == 0)
            return {};
        int balance = 0;
        statement const select = prepare("SELECT balance FROM account WHERE id = 7");
        if (sqlite3_step(select.get()) == SQLITE_ROW)
            balance = sqlite3_column_int(select.get(), 0);
        return balance;
    }

    /// False: a later holder has been here, and nothing was written.
    bool write(std::uint64_t token, int balance)
    {
        return changed("UPDATE account SET balance = ?2, fence = ?1 WHERE id = 7 AND fence <= ?1", token,
                       balance) == 1;
    }

private:
    struct closer {
        void operator()(sqlite3* database) const { sqlite3_close(database); }
        void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
    };
    using statement = std::unique_ptr<sqlite3_stmt, closer>;

    statement prepare(char const* sql)
    {
        sqlite3_stmt* prepared = nullptr;
        if (sqlite3_prepare_v2(database_.get(), sql, -1, &prepared, nullptr) != SQLITE_OK)
            throw std::runtime_error(sqlite3_errmsg(database_.get()));
        return statement(prepared);
    }

    void run(char const* sql) { (void)sqlite3_step(prepare(sql).get()); }

    int changed(char const* sql, std::uint64_t token, std::optional<int> balance = {})
    {
        statement const update = prepare(sql);
        sqlite3_bind_int64(update.get(), 1, static_cast<sqlite3_int64>(token));
        if (balance)
            sqlite3_bind_int(update.get(), 2, *balance);
        if (sqlite3_step(update.get()) != SQLITE_DONE)
            throw std::runtime_error(sqlite3_errmsg(database_.get()));
        return sqlite3_changes(database_.get());
    }

    std::unique_ptr<sqlite3, closer> database_;
};

asio::awaitable<void> show(redlock::client& locks, example::promises& promises)
{
    accounts bank;
    redlock::fenced_mutex lock{locks, "account:7", {.ttl = 1s, .renew = false}};

    redlock::lease first = co_await lock.acquire();
    std::optional<int> const seen = bank.read(first.fencing_token());
    promises.keep(seen == 100,
                  "the first holder reads 100, with token " + std::to_string(first.fencing_token()));

    co_await first.ended(); // here the process stands still for longer than its lease

    redlock::lease second = co_await lock.acquire();
    promises.keep(second.fencing_token() > first.fencing_token(),
                  "the second holder has the larger token " + std::to_string(second.fencing_token()));
    int const balance = bank.read(second.fencing_token()).value_or(0);
    promises.keep(bank.write(second.fencing_token(), balance + 50), "it pays in 50");

    promises.keep(!bank.write(first.fencing_token(), *seen - 30),
                  "the first one wakes up and pays out 30 of the 100 it saw: refused");
    promises.keep(!bank.read(first.fencing_token()), "it may not even read any more");
    promises.keep(bank.read(second.fencing_token()) == 150, "nothing was lost: 150");
    co_await second.release();
}

int main(int argc, char** argv)
{
    return example::run(argc, argv, show);
}
