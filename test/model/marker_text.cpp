#include "model/marker_text.hpp"

#include "model/rules.hpp"

#include <algorithm>

namespace redlock::model {
namespace {

marker_text placed_anew(mark_call const& call, bool never_stood, millis now)
{
    bool const excused = never_stood && call.absence_is_excused;
    if (never_stood && !applies(rule::absence_proves_nothing))
        return {call.life, call.lineage, 0, 0};
    return {call.life, call.lineage, excused ? 0 : now, now};
}

} // namespace

marker_text mark(std::optional<marker_text> const& stands, mark_call const& call, millis now)
{
    bool const seen = call.seen.lineage != 0;
    if (!stands)
        return placed_anew(call, !seen, now);
    marker_text text = *stands;
    bool const anothers = seen && call.seen.lineage != text.lineage && text.since < call.seen.at;
    if (anothers && applies(rule::another_lineage_is_a_loss))
        return placed_anew(call, false, now);
    if (!seen && call.absence_is_excused && !applies(rule::who_comes_lifts_nothing))
        text.since = 0;
    if (text.life != call.life) {
        text.life = call.life;
        if (call.certain_for)
            text.since = std::max(text.since, now - *call.certain_for);
        text.placed = call.certain_for ? std::max(text.placed, text.since) : now;
        return text;
    }
    text.since = std::min(text.since, now); // the clock was set back
    text.placed = std::min(text.placed, now);
    return text;
}

} // namespace redlock::model
