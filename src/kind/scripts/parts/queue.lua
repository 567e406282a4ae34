-- SPDX-License-Identifier: BSL-1.0
-- The queue of the lock: a sorted set of positions in their order. A position: nonce (32), kind (x exclusive, r reader,
-- p permits), milliseconds that the lock is kept for it (7), permits that it wants (4), permits that there are (4), and the
-- channel on which its waiter is called. A polling waiter has no channel, and asks again by itself: "@" and when it asked
-- last (13), or "!" instead of "@" once it has asked as the first.
-- rules Q1, Q2, Q3 and Q4
local passed, previous = '0', nil -- are told in calls: time, previous owner (nil: none)
local start = 0 -- the first permit to look at
local me -- our own position: we need not be called
local called, mine = 0, nil -- how many were called, and what we were given: true, or permits
-- with free.lua
local function leave(...)
    redis.call('zrem', KEYS[2], ...)
end
local function window_of(position)
    return tonumber(position:sub(34, 40))
end
-- Returns when a polling waiter asked last; false or nil if it has a channel.
local function asked(position)
    return #position == 62 and tonumber(position:match('^[@!](%d+)$', 49))
end
-- A position is dead if this version cannot read it, or if its polling waiter has not asked for a second.
local function is_dead(position)
    local _, digits = position:find('^[xrp]%d+', 33)
    local count = position:sub(33, 33) == 'p' and position:sub(41, 44)
    if not digits or digits < 48 or #position == 48 or position:sub(34, 40) == '0000000'
        or count and (count == '0000' or count > position:sub(45, 48)) then
        return true
    end
    local moment = asked(position)
    return moment and math.abs(now - moment) > 1000
end
local mute = false -- Do we lack the right to call waiters?
-- The lock is kept for a polling waiter only once that has asked as the first.
-- rule Q18
local function can_be_called(position)
    return position == me or not asked(position) and not mute or asked(position) and position:sub(49, 49) == '!'
end
-- \return whether the waiter hears it, or is alive without that
local function tell(position, word, rest)
    local heard = asked(position) and 1
        or redis.pcall('publish', position:sub(49), word .. ' ' .. position:sub(1, 32) .. ' ' .. rest)
    if type(heard) == 'table' then
        mute = true
        error(heard)
    end
    return heard > 0
end
-- \param given true, or permits \return the waiter's nonce if it heard
local function call(position, given)
    local nonce = position:sub(1, 32)
    local permits = given == true and '' or ' ' .. table.concat(given, ' ')
    local heard = position == me or tell(position, 'take', passed .. ' ' .. (previous or nonce) .. permits)
    if heard then
        called = called + 1
        mine = position == me and given or mine
    end
    return heard and nonce
end
-- Tells the first position that is not dead, unless it is ours. Dead ones leave.
local function tell_first(word, rest)
    local told
    repeat
        local first = redis.call('zrange', KEYS[2], 0, 0)[1]
        told = not first or first == me or not is_dead(first) and tell(first, word, rest)
        if not told then
            leave(first)
        end
    until told
end
-- Calls all readers of the first positions. \return whether there were any
local function call_readers()
    local gone, nonces, window = {}, {}, 0
    for _, position in ipairs(redis.call('zrange', KEYS[2], 0, 255)) do
        local dead = is_dead(position)
        if position:sub(33, 33) == 'r' and (dead or can_be_called(position)) then
            gone[#gone + 1] = position
            local nonce = not dead and call(position, true)
            if nonce then
                nonces[#nonces + 1] = nonce
                window = math.max(window, window_of(position))
            end
        end
    end
    if gone[1] then
        leave(unpack(gone))
    end
    if nonces[1] then
        take_as_readers(nonces, window)
    end
    return nonces[1] ~= nil
end
-- Each of these functions returns whether others may be served now.
local function serve_exclusive(position)
    if not is_free() then
        return false
    end
    local nonce = call(position, true)
    leave(position)
    if nonce then
        redis.call('set', KEYS[1], nonce, 'px', window_of(position))
        kind = 'string'
    end
    return not nonce
end
local function serve_readers()
    return (kind == 'zset' or is_free()) and not call_readers()
end
-- rule Q7
local function serve_permits(positions, more)
    if kind ~= 'none' and kind ~= 'hash' then
        return false
    end
    -- with permits.lua
    local function give(position)
        local numbers = choose(tonumber(position:sub(41, 44)), tonumber(position:sub(45, 48)), start)
        local nonce = numbers and call(position, numbers)
        if numbers then
            leave(position)
        end
        if nonce then
            take_permits(nonce, window_of(position), numbers)
        end
        return numbers
    end
    -- If too few are free for the first request, nobody passes it.
    for _, position in ipairs(positions) do
        if is_dead(position) then
            leave(position)
        elseif position:sub(33, 33) ~= 'p' then
            return kind == 'none'
        elseif can_be_called(position) and not give(position) then
            return false
        end
    end
    return more
end
-- Gives the lock to the first position that can be called, and with a reader to all readers.
-- \return whether others may be served now
local function serve_first()
    local positions, removed = redis.call('zrange', KEYS[2], 0, mute and -1 or 15), false
    local more = #positions == 16
    for i, first in ipairs(positions) do
        local wants = first:sub(33, 33)
        if is_dead(first) then
            leave(first)
            removed = true
        elseif can_be_called(first) then
            return wants == 'x' and serve_exclusive(first) or wants == 'r' and serve_readers()
                or wants == 'p' and serve_permits({unpack(positions, i)}, more)
        end
    end
    return removed
end
local function serve_all()
    while kind ~= 'string' and kind ~= 'foreign' and serve_first() do
    end
end
-- Serves the queue. If we may not call waiters, those that need a call are passed over: they may be dead.
-- \return the reply if another right is missing
local function serve()
    mute = false
    local done, why = pcall(serve_all)
    if mute then
        done, why = pcall(serve_all)
    end
    if not done then
        return type(why) == 'table' and why or redis.error_reply(why)
    end
end
