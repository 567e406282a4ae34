-- SPDX-License-Identifier: BSL-1.0
-- Votes for several locks or claims them: all of them or none (docs/protocol.md, rules M2, M4 and M8). KEYS: the locks; with
-- fences also that of each lock, and the node's marker. ARGV: how many locks, nonce, milliseconds, previous owners, one behind
-- the other (empty: a vote; our nonce: nobody had the lock when we were called). With fences also: their milliseconds; the
-- proposal; the marker as it was on connecting (empty: any).
-- Returns 1, or the number of the fences: granted. "HELD <milliseconds left> <highest fence> <which> <owner>": one of them,
-- counted from zero, is in the way. "STRANGER": another node than expected. An error: a fence is no number of ours.
-- with see_fences.lua
-- rules Q21 and M2
local count = tonumber(ARGV[1])
local locks = {unpack(KEYS, 1, count)}
local fence = 0
local counted = 1
if KEYS[count + 1] then
    local refused, _, highest = see_fences(count + 1, ARGV[7])
    if refused then
        return refused
    end
    local clock = redis.call('time')
    local latest = clock[1] * 1000 + math.floor(clock[2] / 1000) + math.floor(ARGV[3] / 2)
    fence = highest
    counted = math.max(fence + 1, math.min(tonumber(ARGV[6]), latest))
    if counted >= 8796093022208 then
        return redis.error_reply('WRONGTYPE the fence is no number that can be counted on from: ' .. KEYS[count + 1])
    end
end
local claims, given = ARGV[4] ~= '', {}
if claims then
    given[ARGV[2]] = true
    for previous in ARGV[4]:gmatch(('.'):rep(32)) do
        given[previous] = true
    end
end
-- rule M8
local function is_given(owner)
    return given[owner]
end
-- Looks at readers, permits, and data of another program. \return whether they refuse no more; for how long still, and
-- the holder
local function look_at_others(KEYS)
    local wants = 'x'
    -- with holding.lua
    -- with who_holds.lua
    -- with given.lua
    local left, who = who_holds()
    -- A full server refuses this. It would not refuse what follows a removal (rule K9).
    if claims and kind == 'zset' then
        redis.call('zadd', KEYS[1], 'xx', 0, '')
    end
    return kind == 'none' or claims and (kind == 'zset' and are_readers_given() or kind == 'hash' and are_permits_given()),
        left, who
end
if redis.call('exists', unpack(locks)) > 0 then
    for i, key in ipairs(locks) do
        local left = redis.call('pttl', key)
        local owner = left ~= -2 and redis.call('mget', key)[1]
        local free, who = left == -2 or is_given(owner), owner and owner:sub(1, 8)
        if not free and not owner then
            free, left, who = look_at_others({key})
        end
        if not free then
            return redis.status_reply(string.format('HELD %.0f %.0f %d %s', left, fence, i - 1, who))
        end
    end
end
for i, key in ipairs(locks) do
    redis.call('set', key, ARGV[2], 'px', ARGV[3])
    if KEYS[count + 1] then
        redis.call('set', KEYS[count + i], string.format('%.0f', counted), 'px', ARGV[5])
    end
end
return counted
