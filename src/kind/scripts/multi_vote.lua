-- SPDX-License-Identifier: BSL-1.0
-- A vote for several locks: all of them or none (docs/protocol.md, rules M2, M4 and M8). KEYS: the locks. ARGV: how many
-- they are, nonce, milliseconds, the nonces that were given up for it, one behind the other and one for each lock, or
-- nothing. 1: granted. "HELD <milliseconds left> 0 <which> <owner>": one of them, counted from zero, is in the way.
-- With fences also KEYS: that of each lock, the node's marker. ARGV: milliseconds of the fences, proposal, the marker as
-- it was on connecting (empty: not looked at). A number: granted, with that fence for all. "HELD <milliseconds left>
-- <highest fence> <which> <owner>": refused. "STRANGER": another node than expected. An error: a fence is no number of ours.
-- with see_fences.lua
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
local function given_up(i, owner)
    return owner and ARGV[4] ~= '' and (owner == ARGV[2] or owner == string.sub(ARGV[4], 32 * i - 31, 32 * i))
end
if redis.call('exists', unpack(locks)) > 0 then
    for i, key in ipairs(locks) do
        local left = redis.call('pttl', key)
        local owner = left ~= -2 and redis.call('mget', key)[1]
        if left ~= -2 and not given_up(i, owner) then
            local who = string.sub(owner or '', 1, 8)
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
