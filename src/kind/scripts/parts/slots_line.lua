-- SPDX-License-Identifier: BSL-1.0
-- The line of a semaphore (docs/protocol.md, rule P7). A place has behind the milliseconds, four digits each, how many
-- slots are wanted and how many there are, and then the channel.
channel_at = 48
-- Gives free slots to those who stand first, while there are enough for them.
-- \param giver the nonce that was given up as a whole; nil: none was
-- \param me who comes behind all that stand there; may be nil
-- \param moved the first of them has left
-- \return what me was given, and how many others were given theirs
local function serve(line, giver, me, start, moved)
    local given = 0
    local first, second = front(line)
    while first or me do
        local heir = first or me
        local owner = heir:sub(1, 32)
        local milliseconds, count, limit = heir:match('^(%d%d%d%d%d%d%d)(%d%d%d%d)(%d%d%d%d)', 33)
        local slots = count and choose(tonumber(limit), tonumber(count), start)
        if count and not slots then
            if moved then
                tell_first(line, first, string.format('%.0f', until_ended(1)))
            end
            return nil, given
        end
        if heir == me or slots and call('take', heir, '0 ' .. (giver or owner) .. ' ' .. table.concat(slots, ' ')) > 0 then
            redis.call('zrem', line, heir)
            take(slots, owner, tonumber(milliseconds))
            if heir == me then
                tell_first(line, second, milliseconds)
                return slots, given
            end
            given = given + 1
        else
            redis.call('zrem', line, first)
        end
        moved = true
        first, second = front(line)
    end
    return nil, given
end
