// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "redis/scripts.hpp"
#include <redlock/version.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::test {

/// A client's bytes to each node, with names instead of values that are drawn or depend on a clock. The same value has
/// the same name throughout, so it shows which command belongs to which claim.
class wire_transcript {
public:
    explicit wire_transcript(std::size_t nodes) : pages_(nodes) {}

    /// One write of the client's.
    void wrote(std::size_t node, unsigned long connection, std::string_view bytes)
    {
        pages_.at(node).push_back({connection, std::string(bytes)});
    }
    /// Stands at this place of every node.
    void note(std::string const& what)
    {
        for (auto& page : pages_)
            page.push_back({0, what});
    }

    /// Nodes to which the same was said share their lines.
    [[nodiscard]] std::string text()
    {
        std::vector<std::string> said;
        for (auto const& page : pages_)
            said.push_back(lines(page));
        std::string all;
        for (std::size_t n = 0; n != said.size(); ++n) {
            if (std::find(said.begin(), said.begin() + static_cast<std::ptrdiff_t>(n), said[n]) !=
                said.begin() + static_cast<std::ptrdiff_t>(n))
                continue;
            all += all.empty() ? "==== node" : "\n==== node";
            for (std::size_t same = n; same != said.size(); ++same)
                if (said[same] == said[n])
                    all += ' ' + std::to_string(same + 1);
            all += '\n' + said[n];
        }
        return all;
    }

private:
    struct entry {
        unsigned long connection; ///< 0: a note
        std::string text;
    };
    using words = std::vector<std::string>;

    struct known_script {
        std::string_view name;
        redis::script const* is;
    };
    static constexpr std::array scripts{known_script{"release.lua", &redis::scripts::release},
                                        known_script{"extend.lua", &redis::scripts::extend},
                                        known_script{"fenced_raise.lua", &redis::scripts::fenced_raise},
                                        known_script{"fenced_extend.lua", &redis::scripts::fenced_extend},
                                        known_script{"fenced_adopt.lua", &redis::scripts::fenced_adopt},
                                        known_script{"leader_release.lua", &redis::scripts::leader_release},
                                        known_script{"enter.lua", &redis::scripts::enter},
                                        known_script{"give_back.lua", &redis::scripts::give_back},
                                        known_script{"renew.lua", &redis::scripts::renew},
                                        known_script{"vote.lua", &redis::scripts::vote},
                                        known_script{"whose.lua", &redis::scripts::whose},
                                        known_script{"mark.lua", &redis::scripts::mark}};

    std::string lines(std::vector<entry> const& page)
    {
        std::string all;
        std::map<unsigned long, std::size_t> numbers; // connections, in their order
        unsigned long speaks = 0;
        for (entry const& e : page) {
            if (e.connection == 0) {
                all += "# " + e.text + '\n';
                continue;
            }
            auto const number = numbers.try_emplace(e.connection, numbers.size() + 1).first->second;
            if (std::exchange(speaks, e.connection) != e.connection)
                all += "---- connection " + std::to_string(number) + '\n';
            all += write(e.text);
        }
        return all;
    }

    /// A write begins with >, and + is what came with it.
    std::string write(std::string_view bytes)
    {
        std::string all;
        while (!bytes.empty()) {
            words const command = take(bytes);
            all += all.empty() ? "> " : "+ ";
            if (command.empty())
                return all + "not a whole command: " + shown(std::exchange(bytes, {})) + '\n';
            all += line(command) + '\n';
        }
        return all;
    }

    /// Takes a command only if it has the one canonical form: so a line of the transcript stands for exactly its bytes.
    static words take(std::string_view& bytes)
    {
        std::string_view rest = bytes;
        words command;
        for (std::size_t left = header(rest, '*'); left != 0; --left) {
            std::size_t const size = header(rest, '$');
            if (rest.size() < size + 2)
                return {};
            command.emplace_back(rest.substr(0, size));
            rest.remove_prefix(size + 2);
        }
        std::string again = '*' + std::to_string(command.size()) + "\r\n";
        for (std::string const& word : command)
            again += '$' + std::to_string(word.size()) + "\r\n" + word + "\r\n";
        if (!bytes.starts_with(again))
            return {};
        bytes.remove_prefix(again.size());
        return command;
    }

    static std::size_t header(std::string_view& rest, char type)
    {
        std::size_t value = 0;
        auto const end = rest.find("\r\n");
        if (end == rest.npos || rest.front() != type)
            return 0;
        std::from_chars(rest.data() + 1, rest.data() + end, value);
        rest.remove_prefix(end + 2);
        return value;
    }

    std::string line(words command)
    {
        bool const text = command[0] == "EVAL";
        bool const marks = text && command.size() > 1 && command[1] == redis::scripts::mark.text;
        std::size_t const drawn = drawn_permit(command);
        std::string all = command[0];
        for (std::size_t i = 1; i != command.size(); ++i) {
            all += ' ';
            if (i == 1 && (text || command[0] == "EVALSHA"))
                all += script(command[i], text);
            else if (marks && i >= 4)
                all += argument_of_mark(i - 4, command[i]);
            else if (i == drawn)
                all += "<some permit>";
            else if (command[i - 1] == "LIB-VER" && command[i] == version())
                all += "<version>";
            else
                all += word(command[i]);
        }
        return all;
    }

    static std::string version()
    {
        return std::to_string(REDLOCK_VERSION_MAJOR) + '.' + std::to_string(REDLOCK_VERSION_MINOR) + '.' +
               std::to_string(REDLOCK_VERSION_PATCH);
    }

    static std::string script(std::string_view said, bool text)
    {
        for (auto const& [name, is] : scripts)
            if (said == (text ? is->text : is->sha1))
                return std::string(name) + '@' + std::string(is->sha1.substr(0, 8));
        return shown(said);
    }

    /// The first permit that a vote for permits looks at. Zero: another command.
    static std::size_t drawn_permit(words const& command)
    {
        redis::script const& vote = redis::scripts::vote;
        if (command.size() < 4 || (command[1] != vote.text && command[1] != vote.sha1))
            return 0;
        std::size_t keys = 0;
        std::from_chars(command[2].data(), command[2].data() + command[2].size(), keys);
        return command[3 + keys] == "p" ? 2 + keys + 7 : 0;
    }

    /// life, a lineage that is drawn, how long it has been certain, excused, what was seen, when
    std::string argument_of_mark(std::size_t i, std::string const& said)
    {
        if (i == 1)
            return named("lineage", said);
        if (i == 2 && !said.empty())
            return "<certain for>";
        if (i == 5 && !said.empty())
            return "<then>";
        return word(said);
    }

    std::string word(std::string const& said)
    {
        auto const only = [&said](std::string_view letters) {
            return said.find_first_not_of(letters) == said.npos;
        };
        if (said.size() == 32 && only("0123456789abcdef"))
            return named("nonce", said);
        if (said.size() == 13 && said[0] == '1' && only("0123456789")) // a date in milliseconds
            return named("number", said);
        // <life>/<lineage>/<since>/<placed>
        if (std::ranges::count(said, '/') == 3 && said.find(':') < said.find('/'))
            return named("marker", said);
        // [position in a queue]<prefix>redlock-to:<random>
        constexpr std::string_view channel = "redlock-to:";
        if (auto const at = said.find(channel); at != said.npos && said.size() == at + channel.size() + 32) {
            std::size_t const nonce = at < 48 ? 0 : 32;
            return (nonce == 0 ? std::string() : named("nonce", said.substr(0, nonce))) +
                   said.substr(nonce, at - nonce) + std::string(channel) +
                   named("channel", said.substr(at + channel.size()));
        }
        // <term> <revision> <value>
        if (auto const end = said.find(' ');
            end != said.npos && end >= 16 && said.find_first_not_of("0123456789") == end)
            return '"' + named("term", said.substr(0, end)) + shown_text(said.substr(end)) + '"';
        return shown(said);
    }

    std::string named(std::string const& kind, std::string const& value)
    {
        auto& known = names_[kind];
        auto const number = known.try_emplace(value, known.size() + 1).first->second;
        return '<' + kind + ' ' + std::to_string(number) + '>';
    }

    static std::string shown(std::string_view said)
    {
        bool const plain = !said.empty() && std::ranges::all_of(said, [](char c) {
            return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                   std::string_view("-_.:/*?").find(c) != std::string_view::npos;
        });
        return plain ? std::string(said) : '"' + shown_text(said) + '"';
    }

    static std::string shown_text(std::string_view said)
    {
        constexpr std::string_view hex = "0123456789abcdef";
        std::string all;
        for (char const c : said) {
            auto const code = static_cast<unsigned char>(c);
            if (c == '"' || c == '\\' || code < 0x20 || code > 0x7e)
                all.append("\\x").append(1, hex[code >> 4U]).append(1, hex[code & 15U]);
            else
                all += c;
        }
        return all;
    }

    std::vector<std::vector<entry>> pages_;
    std::map<std::string, std::map<std::string, std::size_t>> names_;
};

} // namespace redlock::test
