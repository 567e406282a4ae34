-- Makes the writer that is ours into a reader, in one step (docs/protocol.md, rules S7 and S12). KEYS[1] the lock. ARGV:
-- nonce, milliseconds. 1: done, 0: not ours. What is a reader already is renewed.
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
if redis.call('mget', KEYS[1])[1] == ARGV[1] then
    -- Both change nothing: the first renews a key that is ours, and the second meets the wrong type. Without the right to
    -- one of them the key would be gone, or never expire, before that is known.
    redis.call('pexpireat', KEYS[1], now + ARGV[2])
    local tried = redis.pcall('zadd', KEYS[1], now + ARGV[2], ARGV[1])
    if not string.find(tried.err, 'WRONGTYPE', 1, true) then
        return tried
    end
    redis.call('del', KEYS[1])
else
    local kind = redis.call('type', KEYS[1]).ok
    local ends = kind == 'zset' and redis.call('zscore', KEYS[1], ARGV[1])
    if not ends or tonumber(ends) <= now then
        return 0
    end
    redis.call('zremrangebyscore', KEYS[1], '-inf', now)
end
redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('pexpireat', KEYS[1], redis.call('zrange', KEYS[1], -1, -1, 'withscores')[2])
return 1
