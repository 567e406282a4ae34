-- SPDX-License-Identifier: BSL-1.0
-- Gives back what is ours, leaves the queue, and serves it (docs/protocol.md). KEYS: the lock, its queue; of an election also
-- the announcement of the leader. ARGV: kind that is likely there (x exclusive, r reader, p permits); nonce; position (empty:
-- none); "take", or "free" to leave the lock open for unqueued clients, or "none" if our nonce is not given up; for how many
-- microseconds the lock has passed from one client to the next; permits (empty: all of the nonce); of an election the start
-- of our announcement.
-- Returns 0: not ours, 1: free, also if we may not call waiters, 2: handed on.
-- rules Q4, Q11, K5, S9 and P5
local nonce, position, word, passed_for = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local ours, handed_on = false, false
-- The fast path decides nearly all releases of exclusive owners: nobody waits, or the first position is exclusive.
if ARGV[1] == 'x' and position == '' and not KEYS[3] then
    local owner = redis.call('mget', KEYS[1])[1]
    if owner and owner ~= nonce then
        return 0
    end
    local positions = owner and redis.pcall('zrange', KEYS[2], 0, 1) or {}
    local first, second = positions[1], positions[2]
    if owner and not first then
        return redis.call('del', KEYS[1])
    end
    -- Neither of the two positions has the length of a polling one.
    local window = first and first:sub(33, 33) == 'x' and #first ~= 62 and (not second or #second ~= 62)
        and tonumber(first:sub(34, 40))
    if window and window > 0 and word ~= 'free' then
        local called = first:sub(1, 32)
        local giver = word == 'take' and nonce or called
        -- A server that refuses all that is written refuses this. PUBLISH it would execute.
        redis.call('zrem', KEYS[2], '')
        local heard = redis.pcall('publish', first:sub(49), 'take ' .. called .. ' ' .. passed_for .. ' ' .. giver)
        if type(heard) == 'number' and heard > 0 then
            redis.call('zrem', KEYS[2], first)
            if redis.pcall('set', KEYS[1], called, 'px', window).err then
                return redis.call('del', KEYS[1])
            end
            ours, handed_on = true, true
            local hint = second and 'first ' .. second:sub(1, 32) .. ' ' .. window
            if not second or redis.pcall('publish', second:sub(49), hint) ~= 0 then
                return 2
            end
        end
    end
end
-- \return whether we were the first position
local function leave_queue()
    local stored = position
    if #position == 48 then -- A polling position is stored with a date.
        for _, text in ipairs(redis.call('zrange', KEYS[2], 0, -1)) do
            stored = #text == 62 and text:sub(1, 48) == position and text or stored
        end
    end
    local was_first = redis.call('zrank', KEYS[2], stored) == 0
    redis.call('zrem', KEYS[2], stored)
    return was_first
end
-- \return whether we were a reader, and whether the others end sooner than we would have
local function leave_readers()
    local last = redis.call('zrange', KEYS[1], -2, -1, 'withscores')
    local shorter = last[3] == nonce
    if shorter then
        redis.call('pexpireat', KEYS[1], last[2])
    end
    return redis.call('zrem', KEYS[1], nonce) == 1 or shorter, shorter
end
-- \return whether we had permits, and the first of them
local function leave_permits()
    -- with permits_of.lua
    local ours = permits_of(nonce, words(ARGV[6]))
    if not ours[1] then
        return false
    elseif redis.call('hlen', KEYS[1]) == #ours + 1 then
        redis.call('del', KEYS[1])
    else
        redis.call('hdel', KEYS[1], unpack(ours))
    end
    return true, tonumber(ours[1])
end
local function give_up()
    local kind = redis.call('type', KEYS[1]).ok
    if kind == 'string' and redis.call('mget', KEYS[1])[1] == nonce then
        return redis.call('del', KEYS[1]) == 1
    elseif kind == 'zset' then
        return leave_readers()
    elseif kind == 'hash' then
        return leave_permits()
    end
    return false
end
local was_first = position ~= '' and leave_queue()
local has_queue = redis.call('exists', KEYS[2]) == 1
local detail
if not handed_on then
    ours, detail = give_up()
end
if KEYS[3] and (redis.call('mget', KEYS[3])[1] or ''):sub(1, #ARGV[7]) == ARGV[7] then
    redis.call('del', KEYS[3])
end
-- The lock has been given back, even if something is refused here.
pcall(function()
    if not has_queue or not (ours or was_first) then
        return
    end
    -- with holding.lua
    -- with taking.lua
    -- with queue.lua
    -- with who_holds.lua
    passed, previous = passed_for, ours and word == 'take' and nonce or nil
    start = tonumber(detail) or 0
    if word == 'free' and ours and kind == 'none' then
        return tell_first('free', passed_for .. ' ' .. nonce)
    elseif not handed_on then
        handed_on = not serve() and called > 0
    end
    if handed_on or was_first or detail == true then
        tell_first('first', (who_holds()))
    end
end)
return ours and (handed_on and 2 or 1) or 0
