-- Renews a reader only while it is one, or makes the writer that is ours into a reader (docs/protocol.md, rules S6 and
-- S12). KEYS[1] the lock. ARGV: nonce, milliseconds. 1: done, 0: not ours. The last read is for client tracking, as in
-- extend.lua.
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local kind = redis.call('type', KEYS[1]).ok
if kind == 'zset' then
    local ends = redis.call('zscore', KEYS[1], ARGV[1])
    if not ends or tonumber(ends) <= now then
        return 0
    end
    redis.call('zremrangebyscore', KEYS[1], '-inf', now)
elseif kind == 'string' and redis.call('get', KEYS[1]) == ARGV[1] then
    redis.call('del', KEYS[1])
else
    return 0
end
redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('pexpireat', KEYS[1], redis.call('zrange', KEYS[1], -1, -1, 'withscores')[2])
redis.call('pttl', KEYS[1])
return 1
