-- SPDX-License-Identifier: BSL-1.0
-- Gives back what is ours, as a reader or as a writer (docs/protocol.md, rules S9, S14 and S15). KEYS: the lock, its
-- gate. ARGV: nonce, milliseconds of a mark and the longest turn, "1" if it is the vote of a writer that waits on, "1" if
-- it may be a reader's. 1: done, 0: not ours.
-- Readers that a writer kept out are let in before the next writer, for as long as they need.
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local function has_gate()
    return redis.call('type', KEYS[2]).ok == 'zset' and redis.call('pttl', KEYS[2]) >= 0
end
-- Who waits hears of it, whether a mark has changed or not.
local function touch_gate()
    redis.call('pexpire', KEYS[2], math.max(redis.call('pttl', KEYS[2]), ARGV[2]))
end
if redis.call('mget', KEYS[1])[1] == ARGV[1] then
    redis.call('del', KEYS[1])
    local gate = has_gate()
    if ARGV[3] == '1' and (gate or redis.call('type', KEYS[2]).ok == 'none') then
        -- Whom that vote refused hears of the lock's key; a mark that is fresh is not left anew, which would wake all.
        local mark = tonumber(redis.call('zscore', KEYS[2], 'writer') or 0)
        if mark < now + ARGV[2] * 3 / 4 or mark > now + ARGV[2] then
            touch_gate() -- without the rights to that a gate would be left that never expires
            redis.call('zadd', KEYS[2], now + ARGV[2], 'writer')
            touch_gate()
        end
    elseif gate then
        if tonumber(redis.call('zscore', KEYS[2], 'reader') or 0) > now then
            local need = tonumber(redis.call('zscore', KEYS[2], 'need') or 0)
            redis.call('zadd', KEYS[2], now + math.min(need, ARGV[2]), 'turn')
            redis.call('zrem', KEYS[2], 'reader', 'need')
        end
        touch_gate()
    end
    return 1
end
if ARGV[4] ~= '1' or redis.call('type', KEYS[1]).ok ~= 'zset' or redis.call('zrem', KEYS[1], ARGV[1]) == 0 then
    return 0
end
redis.call('zremrangebyscore', KEYS[1], '-inf', now)
local ends = redis.call('zrange', KEYS[1], -1, -1, 'withscores')[2]
if ends then
    redis.call('pexpireat', KEYS[1], ends)
elseif has_gate() then
    touch_gate()
end
return 1
