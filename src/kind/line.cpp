#include "kind/line.hpp"

#include "redis/command.hpp"

#include <algorithm>

namespace redlock::kind {

namespace {

/// The part up to the next space, which goes.
std::string_view take_word(std::string_view& text)
{
    auto const word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    return word;
}

} // namespace

std::optional<call> read_call(std::string_view text)
{
    auto const word = take_word(text);
    call said;
    said.nonce = take_word(text);
    if (said.nonce.size() != redis::nonce_length)
        return std::nullopt;
    said.giver = text;
    said.take = word == "take" && (text.empty() || text.size() == redis::nonce_length);
    return said.take || (word == "first" && text.empty()) ? std::optional(said) : std::nullopt;
}

} // namespace redlock::kind
