-- SPDX-License-Identifier: BSL-1.0
-- Takes a position in the queue, or asks again (docs/protocol.md). KEYS: the lock, its queue. ARGV: position, of a polling
-- waiter without its date; milliseconds of the queue; how many positions it may have; "front" for a waiter whose claim was
-- refused.
-- Returns 1, or for permits "GIVEN <permits>": ours to claim. "LINE <milliseconds left> <positions before> <owner>". "FULL".
-- rules Q2, Q4, Q9 and K9
local position = ARGV[1]
local nonce, polls = position:sub(1, 32), #position == 48
local function line(left, before, who)
    return redis.status_reply('LINE ' .. left .. ' ' .. before .. ' ' .. who)
end
-- The fast path decides nearly all entries: behind one exclusive owner, or to a lock that is free and has no queue.
if not polls and ARGV[4] == '' then
    local owner = redis.call('mget', KEYS[1])[1]
    if owner == nonce then
        return 1
    elseif owner then
        local left = string.format('%.0f', redis.call('pttl', KEYS[1]))
        local last = redis.call('zrange', KEYS[2], -1, -1, 'withscores')[2] or 0
        local added = redis.call('zadd', KEYS[2], 'nx', math.floor(last) + 1, position)
        local before = redis.pcall('zrank', KEYS[2], position)
        local fits = type(before) == 'number' and (added == 0 or before < tonumber(ARGV[3]))
        local kept = fits and redis.pcall('pexpire', KEYS[2], ARGV[2])
        if kept == 1 then
            return line(left, before, owner:sub(1, 8))
        elseif added == 1 then
            redis.call('zrem', KEYS[2], position)
        end
        return kept or type(before) == 'table' and before or redis.status_reply('FULL')
    elseif position:sub(33, 33) == 'x' and redis.call('exists', KEYS[2]) == 0
        and redis.call('set', KEYS[1], nonce, 'nx', 'px', tonumber(position:sub(34, 40))) then
        return 1
    end
end
-- with holding.lua
-- with taking.lua
-- with queue.lua
local function answer(given)
    return type(given) == 'table' and 'GIVEN ' .. table.concat(given, ' ') or 1
end
-- Returns true, or permits, if the lock was given to us while we did not hear of it.
local function given_before()
    if kind == 'string' then
        return redis.call('mget', KEYS[1])[1] == nonce
    elseif kind == 'zset' then
        return tonumber(redis.call('zscore', KEYS[1], nonce) or 0) > now
    elseif kind == 'hash' then
        -- with permits_of.lua
        local permits = permits_of(nonce, {}, now)
        return permits[1] and #permits == tonumber(position:sub(41, 44)) and permits
    end
end
local function replace(old, new)
    if new ~= old then
        redis.call('zadd', KEYS[2], redis.call('zscore', KEYS[2], old), new)
        leave(old)
    end
    return new
end
-- Each ask renews the date in a polling position.
-- rule Q18
local function renewed_position()
    local date = string.format('%013.0f', now)
    for _, other in ipairs(redis.call('zrange', KEYS[2], 0, -1)) do
        if asked(other) and other:sub(1, 48) == position then
            return replace(other, other:sub(1, 49) .. date)
        end
    end
    return position .. '@' .. date
end
local function score_of_new()
    local end_of_queue = ARGV[4] == 'front' and 0 or -1
    local other = redis.call('zrange', KEYS[2], end_of_queue, end_of_queue, 'withscores')[2]
    return other and math.floor(other) + (end_of_queue == 0 and -1 or 1) or 1
end
local given = given_before()
if given then
    return answer(given)
elseif polls then
    position = renewed_position()
end
local stood = redis.call('zscore', KEYS[2], position)
if is_dead(position) then
    return redis.error_reply('ERR this is no position in a queue: ' .. position)
elseif stood then
    redis.call('zadd', KEYS[2], 'xx', 0, '') -- A full server refuses this. It would not refuse the rest.
elseif redis.call('zcard', KEYS[2]) >= tonumber(ARGV[3]) then
    return redis.status_reply('FULL')
else
    redis.call('zadd', KEYS[2], score_of_new(), position)
end
me, start = position, tonumber(nonce:sub(1, 8), 16) or 0
-- with who_holds.lua
local done, reply = pcall(function()
    redis.call('pexpire', KEYS[2], ARGV[2])
    local function tell_how_long()
        tell_first('first', (who_holds()))
    end
    -- The waiter that keeps us out may be dead.
    if position:sub(33, 33) ~= 'x' and not (polls and stood) and not is_free() and (kind == 'zset' or kind == 'hash') then
        pcall(tell_how_long)
    end
    local refused = serve()
    if refused then
        error(refused)
    end
    if called > 0 then -- Another position is the first now.
        pcall(tell_how_long)
    end
    if mine then
        return answer(mine)
    end
    local left, who = who_holds()
    local before = redis.call('zrank', KEYS[2], position)
    if before == 0 and polls then
        replace(position, position:sub(1, 48) .. '!' .. position:sub(50)) -- now the lock is kept for it
    end
    return line(left, before, who)
end)
if not done then
    if not stood then
        leave(position)
    end
    return type(reply) == 'table' and reply or redis.error_reply(reply)
end
return reply
