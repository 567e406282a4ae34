-- The line of a semaphore (docs/protocol.md, rule P7). A place has behind the milliseconds, four digits each, how many
-- slots are wanted and how many there are, and then the channel.
channel_at = 48
-- Gives free slots to those who stand first, while there are enough for them.
-- \param giver the nonce that was given up as a whole; nil: none was
-- \param me who comes behind all that stand there; may be nil
-- \return what me was given
local function serve(line, giver, me, start)
    local first, second = front(line)
    local moved = false
    while first or me do
        local heir = first or me
        local owner = heir:sub(1, 32)
        local slots = choose(tonumber(heir:sub(44, 47)), tonumber(heir:sub(40, 43)), start)
        if not slots then
            if moved then
                tell_first(line, first, string.format('%.0f', redis.call('zrange', KEYS[2], 0, 0, 'withscores')[2] - now))
            end
            return nil
        end
        if heir == me or call('take', heir, '0 ' .. (giver or owner) .. ' ' .. table.concat(slots, ' ')) > 0 then
            redis.call('zrem', line, heir)
            take(slots, owner, tonumber(heir:sub(33, 39)))
            if heir == me then
                tell_first(line, second, heir:sub(33, 39))
                return slots
            end
        else
            redis.call('zrem', line, first)
        end
        moved = true
        first, second = front(line)
    end
end
