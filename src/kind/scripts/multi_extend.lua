-- SPDX-License-Identifier: BSL-1.0
-- Renews several locks: all of them or none (docs/protocol.md, rules M3 and M4). KEYS: the locks. ARGV: how many they are,
-- nonce, milliseconds, "1" if another client was granted them. 1: renewed. -i: the i-th is not ours.
-- With fences also KEYS: that of each lock, the node's marker. ARGV: milliseconds of the fences, our token, the marker as
-- it was on connecting (empty: not looked at). A lock that is gone is set again, if nobody came after us (rule F5); if
-- another client was granted it, the fence must be the token (rule H9). 2: one of them was set again. "STRANGER": another
-- node than expected. An error: a fence is no number of ours.
-- with see_fences.lua
-- rule M3
local count = tonumber(ARGV[1])
local fenced = KEYS[count + 1] ~= nil
local token = tonumber(ARGV[6])
local refused, fences
if fenced then
    refused, fences = see_fences(count + 1, ARGV[7])
    if refused then
        return refused
    end
end
local owners = redis.call('mget', unpack(KEYS, 1, count))
local function may_be_set(i)
    return fenced and ARGV[4] ~= '1' and not owners[i] and redis.call('pttl', KEYS[i]) == -2
end
local function is_behind(i)
    return fenced and (fences[i] > token or (ARGV[4] == '1' and fences[i] ~= token))
end
for i = 1, count do
    if is_behind(i) or (owners[i] ~= ARGV[2] and not may_be_set(i)) then
        return -i
    end
end
-- PEXPIRE instead of SET if possible: SET is refused when the server is out of memory.
local gone = false
for i = 1, count do
    gone = gone or not owners[i] or (fenced and fences[i] == 0)
    if owners[i] then
        redis.call('pexpire', KEYS[i], ARGV[3])
    else
        redis.call('set', KEYS[i], ARGV[2], 'px', ARGV[3])
    end
    if fenced and fences[i] == token then
        redis.call('pexpire', KEYS[count + i], ARGV[5])
    elseif fenced then
        redis.call('set', KEYS[count + i], ARGV[6], 'px', ARGV[5])
    end
end
redis.call('mget', unpack(KEYS, 1, count)) -- so that the next change is heard of
return gone and 2 or 1
