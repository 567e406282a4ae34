-- Sets the fence to the token that the others agree on, only while the lock is ours and nobody came after us
-- (docs/protocol.md, rule F2). KEYS and ARGV as for the vote; ARGV[4] is the token. 1: done, 0: refused,
-- "STRANGER": another node than expected.
local seen = redis.call('mget', KEYS[1], KEYS[2], KEYS[3])
if ARGV[5] ~= '' and seen[3] ~= ARGV[5] then
    return redis.status_reply('STRANGER')
end
local fence = tonumber(seen[2] or redis.call('pttl', KEYS[2]) == -2 and 0) -- as in fenced_vote.lua
if not (fence and fence >= 0 and fence < 8796093022208) then
    return redis.error_reply('WRONGTYPE the fence is no number that can be counted on from: ' .. KEYS[2])
end
if seen[1] ~= ARGV[3] or fence > tonumber(ARGV[4]) then
    return 0
end
redis.call('set', KEYS[2], ARGV[4], 'px', ARGV[2])
return 1
