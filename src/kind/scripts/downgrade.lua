-- SPDX-License-Identifier: BSL-1.0
-- Makes the writer that is ours into a reader, in one step (docs/protocol.md, rules S7 and S12). KEYS[1] the lock. ARGV:
-- nonce, milliseconds. 1: done, 0: not ours. What is a reader already is renewed.
-- With a fence (rule S16) also KEYS: the fence, the node's marker. ARGV: milliseconds of the fence, our token, the marker
-- as it was on connecting (empty: not looked at). A lower fence is set to the token; a higher one may come from another
-- reader. "STRANGER": another node than expected. An error: the fence is no number of ours.
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local fence
if KEYS[2] then
    local seen = redis.call('mget', KEYS[2], KEYS[3])
    if ARGV[5] ~= '' and seen[2] ~= ARGV[5] then
        return redis.status_reply('STRANGER')
    end
    fence = tonumber(seen[1] or redis.call('pttl', KEYS[2]) == -2 and 0) -- as in fenced_vote.lua
    if not (fence and fence >= 0 and fence < 8796093022208) then
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
end
if fence and fence < tonumber(ARGV[4]) then
    redis.call('set', KEYS[2], ARGV[4], 'px', ARGV[3])
elseif fence then
    redis.call('pexpire', KEYS[2], ARGV[3])
end
if writes then
    -- Both change nothing: the first renews a key that is ours, and the second meets the wrong type. Without the right to
    -- one of them the key would be gone, or never expire, before that is known.
    redis.call('pexpireat', KEYS[1], now + ARGV[2])
    local tried = redis.pcall('zadd', KEYS[1], now + ARGV[2], ARGV[1])
    if not string.find(tried.err, 'WRONGTYPE', 1, true) then
        return tried
    end
    redis.call('del', KEYS[1])
else
    redis.call('zremrangebyscore', KEYS[1], '-inf', now)
end
redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('pexpireat', KEYS[1], redis.call('zrange', KEYS[1], -1, -1, 'withscores')[2])
return 1
