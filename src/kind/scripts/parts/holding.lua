-- SPDX-License-Identifier: BSL-1.0
-- The lock's key holds a string, the one exclusive owner; or a sorted set, each reader with its end; or a hash, each permit
-- with its owner's nonce and its end. The key expires with the last of them. Ends are milliseconds of the node's clock.
-- A server runs a script from its first line on at each call. So functions that few calls need are made within a branch or
-- a function that few calls reach.
-- rule S1
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local kind = redis.call('type', KEYS[1]).ok -- or "foreign": data of another program
local last_end = 0 -- of readers
local next_end -- No permit ends before that. The field `next` keeps it, so that the others need not be read.
local taken -- permits
if kind == 'zset' then
    local left = redis.call('pttl', KEYS[1])
    last_end = tonumber(redis.call('zrange', KEYS[1], -1, -1, 'withscores')[2])
    if left < 0 or math.abs(last_end - now - left) > 1000 then
        kind = 'foreign'
    end
elseif kind ~= 'none' and kind ~= 'string' and kind ~= 'hash' then
    kind = 'foreign'
end
