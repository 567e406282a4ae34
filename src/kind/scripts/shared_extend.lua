-- SPDX-License-Identifier: BSL-1.0
-- Renews a reader only while it is one (docs/protocol.md, rule S6), and what is ours as a writer as a writer: it may have
-- become one since. KEYS[1] the lock. ARGV: nonce, milliseconds. 1: done, 0: not ours.
-- With a fence (rule S16) also KEYS: the fence, the node's marker. ARGV: milliseconds of the fence, our token, the marker
-- as it was on connecting (empty: not looked at). A lower fence is set to the token; for a writer a higher one says that
-- somebody came after it. "STRANGER": another node than expected. An error: the fence is no number of ours.
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
-- Not SET where PEXPIRE will do: it is refused when the server is out of memory.
local function keep_fence()
    if fence and fence < tonumber(ARGV[4]) then
        redis.call('set', KEYS[2], ARGV[4], 'px', ARGV[3])
    elseif fence then
        redis.call('pexpire', KEYS[2], ARGV[3])
    end
end
if redis.call('mget', KEYS[1])[1] == ARGV[1] then
    if fence and fence > tonumber(ARGV[4]) then
        return 0
    end
    keep_fence()
    redis.call('pexpire', KEYS[1], ARGV[2])
    redis.call('mget', KEYS[1]) -- so that the next change is heard of
    return 1
end
local kind = redis.call('type', KEYS[1]).ok
local ends = kind == 'zset' and redis.call('zscore', KEYS[1], ARGV[1])
if not ends or tonumber(ends) <= now then
    return 0
end
keep_fence()
redis.call('zremrangebyscore', KEYS[1], '-inf', now)
redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('pexpireat', KEYS[1], redis.call('zrange', KEYS[1], -1, -1, 'withscores')[2])
return 1
