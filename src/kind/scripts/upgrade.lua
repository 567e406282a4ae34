-- SPDX-License-Identifier: BSL-1.0
-- Makes the only reader into a writer (docs/protocol.md, rules S8 and S13). KEYS[1] the lock. ARGV: nonce, milliseconds.
-- 1: done, or we were one already. "HELD <milliseconds left> 0 READERS": not the only one; a reader still, and renewed.
-- 0: we are none here.
-- With a fence (rule S16) also KEYS: the fence, the node's marker. ARGV: milliseconds of the fence, proposal, the marker
-- as it was on connecting (empty: not looked at). It counts as a writer's vote does. A number: done, with that fence.
-- "HELD <milliseconds left> <fence> READERS": as above. "STRANGER": another node than expected. An error: the fence is no
-- number of ours.
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local fence = 0
local counted = 1
if KEYS[2] then
    local seen = redis.call('mget', KEYS[2], KEYS[3])
    if ARGV[5] ~= '' and seen[2] ~= ARGV[5] then
        return redis.status_reply('STRANGER')
    end
    fence = tonumber(seen[1] or redis.call('pttl', KEYS[2]) == -2 and 0) -- as in fenced_vote.lua
    counted = fence and math.max(fence + 1, math.min(tonumber(ARGV[4]), now + math.floor(ARGV[2] / 2)))
    if not (counted and fence >= 0 and counted < 8796093022208) then
        return redis.error_reply('WRONGTYPE the fence is no number that can be counted on from: ' .. KEYS[2])
    end
end
local writes = redis.call('mget', KEYS[1])[1] == ARGV[1]
if not writes then
    local kind = redis.call('type', KEYS[1]).ok
    local ends = kind == 'zset' and redis.call('zscore', KEYS[1], ARGV[1])
    if not ends or tonumber(ends) <= now then
        return 0
    end
    redis.call('zremrangebyscore', KEYS[1], '-inf', now)
    if redis.call('zcard', KEYS[1]) ~= 1 then
        redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
        redis.call('pexpireat', KEYS[1], redis.call('zrange', KEYS[1], -1, -1, 'withscores')[2])
        return redis.status_reply(string.format('HELD %.0f %.0f READERS', redis.call('pttl', KEYS[1]), fence))
    end
end
if KEYS[2] then
    redis.call('set', KEYS[2], string.format('%.0f', counted), 'px', ARGV[3])
end
redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
return counted
