#define BOOST_TEST_MODULE cli
#include <boost/test/included/unit_test.hpp>
